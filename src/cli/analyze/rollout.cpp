// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/rollout/rollout.h"

#include "cli/analyze/analyses.h"
#include "cli/open_or_run.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <filesystem>

namespace headlight::cli {
namespace {

constexpr std::int64_t most_rollout_rows = 2'000'000;

struct RolloutArguments {
    ModelArgument model;
    TextArguments text;
    AttentionArgument attention;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t layer = -1, head = -1, query = -1;
    bool flow = false, by_receptive_field = false;
};

analyze::RolloutOptions options_of(const RolloutArguments& o) {
    analyze::RolloutOptions options;
    if (o.layer >= 0) options.layer = Layer(o.layer);
    if (o.head >= 0) options.head = Head(o.head);
    if (o.query >= 0) options.query = Position(o.query);
    options.by_receptive_field = o.by_receptive_field;
    return options;
}

figure::NamedArray rollout_array(std::string name, const analyze::Rollout& found) {
    const analyze::Matrix& one = found.maps.front();
    figure::NamedArray out{std::move(name), {static_cast<std::int64_t>(found.maps.size()), one.rows(), one.cols()}, {}};
    out.values.reserve(static_cast<std::size_t>(one.size()) * found.maps.size());
    for (const analyze::Matrix& map : found.maps) out.values.insert(out.values.end(), map.data(), map.data() + map.size());
    return out;
}

/// One row a pair that is not masked.
void add_rows(figure::Table& table, const trace::Trace& trace, const RolloutArguments& o, const analyze::Rollout& rollout,
              const analyze::Rollout* flow) {
    const bool across = trace.across_texts();
    table.columns = {"layer", "query", "query_token", "key", "key_token", "rollout"};
    if (across) table.columns = {"layer", "target", "target_token", "source", "source_token", "rollout"};
    if (flow) table.columns.emplace_back("flow");
    const std::int64_t n = trace.tokens();
    for (std::size_t m = 0; m < rollout.maps.size(); ++m)
        for (std::int64_t i = std::max<std::int64_t>(o.query, 0); i < (o.query >= 0 ? o.query + 1 : n); ++i)
            for (std::int64_t j = 0; j < (trace.config().causal ? i + 1 : trace.keys()); ++j) {
                const std::int64_t r = o.query >= 0 ? 0 : i;
                auto& row = table.rows.emplace_back();
                row = {rollout.layers[m].value,
                       i,
                       token_name(trace.labels(), i),
                       j,
                       token_name(across ? trace.key_labels() : trace.labels(), j),
                       static_cast<double>(rollout.maps[m](r, j))};
                if (flow) row.emplace_back(static_cast<double>(flow->maps[m](r, j)));
            }
}

void check_rows(const trace::Trace& trace, const RolloutArguments& o) {
    const std::int64_t n = trace.tokens(), layers = o.layer >= 0 ? 1 : trace.config().n_layers, queries = o.query >= 0 ? 1 : n,
                       rows = (o.query < 0 && trace.config().causal ? n * (n + 1) / 2 : queries * trace.keys()) * layers;
    if (rows <= most_rollout_rows) return;
    throw Error(ErrorFacts{.problem = "a row for every pair and layer would be too long a table",
                           .expected = "at most " + std::to_string(most_rollout_rows) + " rows",
                           .found = std::to_string(rows) + " of " + std::to_string(n) + " tokens",
                           .hint = "Write .npz, which holds arrays of any size, or ask for one --layer or --query"});
}

int rollout(const RolloutArguments& o, const Console& console) {
    if (o.flow && o.head >= 0) throw UsageError("--flow goes through all heads together: leave out --head");
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const auto run = run_loaded(loaded, {}, console);
    const auto trace = o.attention.of(run);
    const bool arrays = std::filesystem::path(o.out.path).extension() == ".npz";
    if (!arrays) check_rows(*trace, o);
    analyze::RolloutOptions options = options_of(o);
    options.of_source = trace->across_texts();
    const trace::Trace& rolled = options.of_source ? *run : *trace;
    const analyze::Rollout found = analyze::rollout(rolled, options, loaded.cancel, console.progress());
    analyze::Rollout flow;
    if (o.flow) flow = analyze::attention_flow(rolled, options, loaded.cancel, console.progress());
    console.clear_progress();

    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    result.definitions.emplace_back(
        "rollout",
        has_cross_attention(rolled.config())
            ? "of the target T_l = J_l T_{l-1} / 2, of the source S_l = (J_l S_{l-1} + C_l E) / 2, J = (mean of the heads + I) / 2, "
              "C the mean of the cross attention's heads, E the encoder's rollout (after Ferrando et al. 2022)."
            : "R_l = J_l R_{l-1}, J = (mean of the heads + I) / 2 (Abnar & Zuidema 2020).");
    if (o.flow)
        result.definitions.emplace_back(
            "flow",
            has_cross_attention(rolled.config())
                ? "Largest flow from the target's token after the layer to an input of either text, with capacities J and (I + C) / 2 of each layer of the "
                  "decoder and J of the encoder; rows divided by their sums over both texts (after Abnar & Zuidema 2020)."
                : "Largest flow from the query after the layer to the key's input with capacities "
                  "J; rows divided by their sums (Abnar & Zuidema 2020).");
    if (o.attention.given()) result.facts.emplace_back("attention", o.attention.word);
    result.facts.emplace_back("layers", o.layer < 0 ? "all" : std::to_string(o.layer));
    result.facts.emplace_back("heads", o.head < 0 ? "mean" : std::to_string(o.head));
    result.facts.emplace_back("query", o.query < 0 ? "all" : std::to_string(o.query));
    result.facts.emplace_back("by_receptive_field", o.by_receptive_field ? "yes" : "no");
    for (std::size_t k = 0; k < found.notes.size(); ++k) {
        result.facts.emplace_back("note_" + std::to_string(k + 1), found.notes[k]);
        console.note(found.notes[k]);
    }
    if (arrays) {
        result.arrays.push_back(rollout_array("rollout", found));
        if (o.flow) result.arrays.push_back(rollout_array("flow", flow));
    } else {
        add_rows(result.table, *trace, o, found, o.flow ? &flow : nullptr);
    }
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_rollout(Definition& definition, const Frontend&) {
    auto options = std::make_shared<RolloutArguments>();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_image(definition);
    options->attention.add(definition);
    const auto index = [&](const char* flag, std::int64_t& value, const char* help) {
        definition.app->add_option(flag, value, help)->type_name("N")->check(counted_from_zero());
    };
    definition.app->add_flag("--flow", options->flow, "attention flow too: slow; for long texts with --query");
    index("--layer", options->layer, "only the map after this layer, from 0 (default: every layer)");
    index("--head", options->head, "only this head of each map's own layer, from 0 (default: mean of all)");
    index("--query", options->query, "only this query's row, from 0 (default: every token's)");
    definition.app->add_flag("--by-receptive-field", options->by_receptive_field,
                             "causal models: divide by what even attention gives");
    options->out.add(definition);
    options->compute.add(definition);
    return [options, console = definition.console] { return rollout(*options, *console); };
}

}  // namespace headlight::cli
