// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/rollout/rollout.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct RolloutCommand : Analysis {
    std::int64_t layer = -1, head = -1, query = -1;
    bool flow = false, by_receptive_field = false;

    void add(Definition& definition) {
        definition.app->add_flag("--flow", flow, "attention flow too: slow; for long texts with --query");
        add_index(definition, "--layer", layer, "only the map after this layer, from 0 (default: every layer)");
        add_index(definition, "--last-head,--head", head,
                  "only this head of each map's own layer, from 0 (default: mean of all)");
        add_index(definition, kPosition, query, "only this query's row, from 0 (default: every token's)");
        definition.app->add_flag(analyze::kByReceptiveField.option(), by_receptive_field,
                                 std::string(analyze::kByReceptiveField.help));
    }

    Result run(const Console& console) const {
        if (flow && head >= 0) throw UsageError("--flow goes through all heads together: leave out --last-head");
        const Run run = run_text(console);
        const trace::Trace& trace = *run.trace;
        const analyze::RolloutOptions options{.head = head_of(head),
                                              .layer = layer_of(layer),
                                              .by_receptive_field = by_receptive_field,
                                              .query = query < 0 ? std::nullopt : std::optional(Position(query)),
                                              .of_source = trace.across_texts()};
        if (!writes_arrays())  // before the work
            analyze::check_rows(analyze::table_rows(trace, layer >= 0 ? 1 : trace.config().n_layers, options.query),
                                trace.tokens(), "Write .npz, which holds arrays of any size, or ask for one --layer or --query");
        const trace::Trace& rolled = options.of_source ? *run.whole : trace;
        const analyze::Rollout found = analyze::rollout(rolled, options, run.loaded.cancel, console.progress());
        analyze::Rollout flows;
        if (flow) flows = analyze::attention_flow(rolled, options, run.loaded.cancel, console.progress());
        console.clear_progress();
        const auto* flow_maps = flow ? &flows.maps : nullptr;
        Result out =
            result(trace, writes_arrays() ? analyze::arrays_of(trace, &found.maps, flow_maps)
                                          : analyze::table_of(trace, found.layers, &found.maps, flow_maps, options.query));
        const auto or_word = [](std::int64_t i, const char* word) { return i < 0 ? Fact(word) : Fact(i); };
        out.fact("layers", or_word(layer, "all")).fact("heads", or_word(head, "mean")).fact("query", or_word(query, "all"));
        return std::move(out.fact("by_receptive_field", by_receptive_field).notes(found.notes, console));
    }
};

}  // namespace

Action define_analyze_rollout(Definition& definition, const Frontend&) {
    return define_analysis<RolloutCommand>(definition, kRun | kImage | kAttention);
}

}  // namespace headlight::cli
