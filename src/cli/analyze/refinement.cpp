// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/refinement.h"
#include "cli/analyze/analyses.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"

namespace headlight::cli {
namespace {

struct RefinementArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::string texts;
    bool unembedding = false, no_values = false, all_memories = false, with_first = false, changes = false;
};

/// Lines that are not empty.
std::vector<std::string> lines_of(const std::string& file) {
    constexpr std::size_t longest = 64u << 20;
    const std::string all = io::read_text(file, longest);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\n', at), all.size());
        std::string line = all.substr(at, end - at);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (!line.empty()) lines.push_back(std::move(line));
        at = end + 1;
    }
    if (lines.empty()) throw Error({.problem = "there is no text in the file", .file = file, .expected = "one text a line"});
    return lines;
}

figure::Table layer_table(const analyze::Refinement& r) {
    figure::Table table;
    table.columns = {"layer",
                     "active",
                     "agreement",
                     "residual",
                     "ffn",
                     "composition",
                     "zero_agreement",
                     "residual_final",
                     "residual_probability",
                     "residual_probability_low",
                     "residual_probability_median",
                     "residual_probability_high",
                     "value_agreement",
                     "active_memories"};
    for (std::size_t l = 0; l < r.layers.size(); ++l) {
        const analyze::LayerRefinement& x = r.layers[l];
        table.rows.push_back({static_cast<std::int64_t>(l), x.active, x.agreement, x.residual, x.ffn, x.composition,
                              x.zero_agreement, x.residual_final, x.residual_probability, x.residual_probability_low,
                              x.residual_probability_median, x.residual_probability_high, x.value_agreement, x.active_memories});
    }
    return table;
}

figure::Table change_table(const analyze::Refinement& r, const text::Tokenizer& tokenizer) {
    figure::Table table;
    table.columns = {"text", "position", "before_id", "before", "after_id", "after"};
    for (const analyze::LastLayerChange& c : r.last_layer)
        table.rows.push_back({c.text, c.position, c.before, text::token_label(tokenizer, c.before), c.after,
                              text::token_label(tokenizer, c.after)});
    return table;
}

int refinement(const RefinementArguments& o, const Console& console) {
    o.out.check();
    if (o.texts.empty() == !o.text.given()) throw UsageError("one of --text, --text-file, --texts and --image is needed");
    std::vector<std::shared_ptr<const trace::Trace>> runs;
    Loaded loaded;
    if (o.texts.empty()) {
        loaded = load_for_run(o.model, o.text, o.compute, console);
        runs.push_back(run_loaded(loaded, {}, console));
    } else {
        const std::vector<std::string> lines = lines_of(o.texts);
        loaded = load_model(o.model, o.compute, console);
        trace::CapturePlan plan;
        plan.globs = {"*resid_mid*", "*resid_post", "*hook_mlp_out", "*mlp.hook_post"};
        plan.overview = false;
        for (const std::string& line : lines) {
            loaded.prompt = {.text = line, .pair = {}};
            runs.push_back(run_loaded(loaded, plan, console));
        }
    }
    const analyze::RefinementOptions options{.read_out = o.unembedding ? analyze::ReadOut::unembedding : analyze::ReadOut::model,
                                             .values = !o.no_values,
                                             .all_memories = o.all_memories,
                                             .skip_first = !o.with_first};
    const analyze::Refinement found = analyze::refinement(runs, options, loaded.cancel, console.progress());
    console.clear_progress();
    Result result{.table = o.changes ? change_table(found, *loaded.tokenizer) : layer_table(found),
                  .arrays = {},
                  .definitions = {},
                  .facts = o.texts.empty() ? facts_of(*runs.front()) : facts_of(*loaded.model)};
    result.facts.emplace_back("texts", std::to_string(runs.size()));
    result.facts.emplace_back("tokens", std::to_string(found.tokens));
    result.facts.emplace_back("read_out", o.unembedding                      ? "unembedding alone"
                                          : loaded.model->config().post_norm ? "norm behind the layer's sum and unembedding"
                                                                             : "final norm and unembedding");
    result.facts.emplace_back("first_token",
                              o.with_first || model::reads_pictures(loaded.model->config()) ? "counted" : "left out");
    if (!o.changes)
        result.definitions = {
            {"active", "mean share of memories with m > 0"},
            {"agreement", "top(r) = top(y) = top(o); r before the MLP, y its output, o = r + y"},
            {"residual", "top(o) = top(r) only"},
            {"ffn", "top(o) = top(y) only"},
            {"composition", "top(o) is neither"},
            {"zero_agreement", o.all_memories ? "no memory's value has top(y)" : "no active memory's value has top(y)"},
            {"residual_final", "top(r) is the top token of the last layer's output"},
            {"residual_probability", "probability of that token in r: mean, quartiles"},
            {"value_agreement", "share of active memories whose value's top token followed their strongest trigger"}};
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_refinement(Definition& definition, const Frontend&) {
    auto o = std::make_shared<RefinementArguments>();
    o->model.add(definition);
    o->text.add(definition);
    o->text.add_image(definition);
    CLI::Option* texts = definition.app->add_option("--texts", o->texts, "a file with one text a line");
    texts->type_name("FILE");
    definition.kinds[texts] = ValueKind::file;
    definition.app->add_flag("--unembedding", o->unembedding, "read vectors by the unembedding alone, without the final norm");
    definition.app->add_flag("--no-values", o->no_values, "leave out what needs the top token of every value");
    definition.app->add_flag("--all-memories", o->all_memories, "zero agreement over all memories, not only active ones");
    definition.app->add_flag("--with-first", o->with_first, "count each text's first token");
    definition.app->add_flag("--changes", o->changes, "list the tokens whose prediction the last MLP changed");
    o->out.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return refinement(*o, *console); };
}

}  // namespace headlight::cli
