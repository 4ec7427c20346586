// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"
#include "figure/rollout/rollout_views.h"

namespace headlight::figure {
namespace {

ViewOption all_layers() {
    return flag("all-layers", "Every layer up to this one", "rollout, flow: a map of each layer up to --layer");
}

ViewOption receptive_field() {
    return flag("by-receptive-field", "Divided by what uniform attention gives",
                "rollout, flow of causal models: divide by what uniform attention gives");
}

/// The window's layer is that of the selected heads; attention across layers is mostly wanted up to the last one.
ViewOption up_to() {
    return {.name = "up-to",
            .kind = OptionKind::choice,
            .title = "Up to",
            .help = "rollout, flow without --layer: up to the last layer, or that of an interesting head",
            .initial = "last",
            .choices = {{"last", "The last layer"}, {"chosen", "The chosen layer"}}};
}

ViewOption least() {
    return number_option("least", "Thinnest ribbon", "ribbons and nodes below this share of the whole are counted, not drawn",
                         "0.01", 0.0001, 1);
}

template <bool flow>
std::unique_ptr<Figure> followed(TracePtr trace, const ViewState& state, const CancelToken& cancel, const Progress& progress) {
    RolloutViewOptions options{.flow = flow,
                               .all_layers = flag_value(state, "all-layers"),
                               .by_receptive_field = flag_value(state, "by-receptive-field"),
                               .sums = flag_value(state, "sums")};
    if (const std::int64_t head = flow ? -1 : integer_value(state, "last-head"); head >= 0) options.head = Head(head);
    return rollout_view(std::move(trace), state.layer, options, cancel, progress);
}

template <bool flow>
std::unique_ptr<Figure> paths(TracePtr trace, const ViewState& state, const CancelToken& cancel, const Progress&) {
    const Position query = state.query.value_or(Position(trace->tokens() - 1));
    return paths_view(std::move(trace), state.layer, query, flow ? state.key : std::nullopt,
                      {.flow = flow, .least = number_value(state, "least")}, cancel);
}

std::unique_ptr<Figure> aggregate(TracePtr trace, const ViewState& state, const CancelToken& cancel, const Progress&) {
    const std::vector<HeadId> heads = chosen_heads(*trace, state);
    return aggregate_matrix_view(std::move(trace), heads, choice_value<analyze::Aggregate>(state, "together"), state.pattern,
                                 flag_value(state, "sums"), cancel);
}

}  // namespace

std::vector<ViewSpec> rollout_view_specs() {
    return {
        {.id = "aggregate",
         .title = "Heads combined",
         .across_texts = true,
         .of_layer = true,
         .needs = {.layer = true, .heads = true, .pattern = true},
         .all_heads = true,
         .options = {choice("together", "Combine by", "several heads as one map: their mean or their maximum",
                            analyze::Aggregate::mean),
                     layers_option(), sums_option()},
         .make = aggregate},
        {.id = "rollout",
         .title = "Rollout",
         .across_texts = true,
         .needs = {.layer = true},
         .last_layer = true,
         .options = {up_to(), all_layers(), receptive_field(), sums_option(),
                     integer_option("last-head", "Last step by one head",
                                    "rollout: the last step by this head alone; -1: the mean of all", "-1", -1, 4096)},
         .make = followed<false>},
        {.id = "rollout-paths",
         .title = "Rollout from a token",
         .across_texts = true,
         .needs = {.layer = true, .query = true},
         .last_layer = true,
         .options = {up_to(), least()},
         .make = paths<false>},
        {.id = "flow",
         .title = "Attention flow",
         .across_texts = true,
         .needs = {.layer = true},
         .last_layer = true,
         .options = {up_to(), all_layers(), receptive_field(), sums_option()},
         .make = followed<true>},
        {.id = "flow-paths",
         .title = "Attention flow from a token",
         .across_texts = true,
         .needs = {.layer = true, .query = true, .key = true},
         .last_layer = true,
         .options = {up_to(), least()},
         .make = paths<true>},
    };
}

}  // namespace headlight::figure
