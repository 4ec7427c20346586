// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/refinement.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/io/text_lines.h"

namespace headlight::cli {
namespace {

struct RefinementCommand : Analysis {
    std::string texts;
    bool changes = false;
    analyze::RefinementRequest asked;

    void add(Definition& definition) {
        add_path(definition, "--texts", texts, "a file with one text a line");
        add_fields(definition, asked);
        definition.app->add_flag("--changes", changes, "list the tokens whose prediction the last MLP changed");
    }

    Result run(const Console& console) const {
        if (texts.empty() == !text.given()) throw UsageError("one of --text, --text-file, --texts and --image is needed");
        std::vector<std::shared_ptr<const trace::Trace>> runs;
        Loaded loaded;
        if (texts.empty()) {
            loaded = load(console);
            runs.push_back(run_loaded(loaded, hooks_alone(), console));
        } else {
            const auto lines = io::read_text_lines(texts);
            loaded = load_weights(console);
            const trace::CapturePlan plan{.globs = {"*resid_mid*", "*resid_post", "*hook_mlp_out", "*mlp.hook_post"},
                                          .overview = trace::no_overview};
            for (const io::TextLine& line : lines) {
                loaded.prompt = {.text = line.text};
                runs.push_back(run_loaded(loaded, plan, console));
            }
        }
        const model::ModelConfig& config = loaded.model->config();
        const analyze::Refinement found = analyze::refinement(runs, asked.options(), loaded.cancel, console.progress());
        Result out{.table = changes ? analyze::last_layer_table(found, *loaded.tokenizer) : analyze::table_of(found),
                   .facts = texts.empty() ? facts_of(*runs.front()) : facts_of(*loaded.model)};
        out.fact("texts", std::ssize(runs)).fact("tokens", found.tokens);
        out.fact("read_out", asked.unembedding  ? "unembedding alone"
                             : config.post_norm ? "norm after the layer's sum and unembedding"
                                                : "final norm and unembedding");
        return std::move(out.fact("first_token", asked.with_first || model::reads_pictures(config) ? "counted" : "left out"));
    }
};

}  // namespace

Action define_analyze_refinement(Definition& definition, const Frontend&) {
    return define_analysis<RefinementCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
