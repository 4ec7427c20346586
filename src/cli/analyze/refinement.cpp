// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/refinement.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "headlight/io/text_lines.h"

namespace headlight::cli {
namespace {

struct RefinementCommand : Analysis {
    std::string texts;
    bool unembedding = false, no_values = false, all_memories = false, with_first = false, changes = false;

    void add(Definition& definition) {
        add_path(definition, "--texts", texts, "a file with one text a line");
        definition.app->add_flag("--unembedding", unembedding, "read vectors with the unembedding only, without the final norm");
        definition.app->add_flag("--no-values", no_values, "skip results that need the top token of every value");
        definition.app->add_flag("--all-memories", all_memories, "zero agreement over all memories, not only active ones");
        definition.app->add_flag("--with-first", with_first, "count each text's first token");
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
        const analyze::Refinement found =
            analyze::refinement(runs,
                                {.read_out = unembedding ? analyze::ReadOut::unembedding : analyze::ReadOut::model,
                                 .values = !no_values,
                                 .all_memories = all_memories,
                                 .skip_first = !with_first},
                                loaded.cancel, console.progress());
        Result out{.table = changes ? analyze::last_layer_table(found, *loaded.tokenizer) : analyze::table_of(found),
                   .facts = texts.empty() ? facts_of(*runs.front()) : facts_of(*loaded.model)};
        out.fact("texts", std::ssize(runs)).fact("tokens", found.tokens);
        out.fact("read_out", unembedding        ? "unembedding alone"
                             : config.post_norm ? "norm after the layer's sum and unembedding"
                                                : "final norm and unembedding");
        return std::move(out.fact("first_token", with_first || model::reads_pictures(config) ? "counted" : "left out"));
    }
};

}  // namespace

Action define_analyze_refinement(Definition& definition, const Frontend&) {
    return define_analysis<RefinementCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
