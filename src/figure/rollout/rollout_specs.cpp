// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "figure/rollout/rollout_views.h"

namespace headlight::figure {
namespace {

template <bool flow>
std::unique_ptr<Figure> followed(TracePtr trace, const ViewState& state, const CancelToken& cancel, const Progress& progress) {
    return rollout_view(std::move(trace), state.layer, request_of<RolloutViewOptions>(state, {.flow = flow}), cancel, progress);
}

template <bool flow>
std::unique_ptr<Figure> paths(TracePtr trace, const ViewState& state, const CancelToken& cancel, const Progress&) {
    const Position query = pinned_or_last(*trace, state);
    return paths_view(std::move(trace), state.layer, query, flow ? state.key : std::nullopt,
                      request_of<PathsViewOptions>(state, {.flow = flow}), cancel);
}

std::unique_ptr<Figure> aggregate(TracePtr trace, const ViewState& state, const CancelToken& cancel, const Progress&) {
    const std::vector<HeadId> heads = chosen_heads(*trace, state);
    const auto [together, layers, sums] = request_of<AggregateRequest>(state);
    return aggregate_matrix_view(std::move(trace), heads, together, state.pattern, sums, cancel);
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
         .options = options_of<AggregateRequest>(),
         .make = aggregate},
        {.id = "rollout",
         .title = "Rollout",
         .across_texts = true,
         .needs = {.layer = true},
         .last_layer = true,
         .options = options_of<RolloutViewOptions>(),
         .make = followed<false>},
        {.id = "rollout-paths",
         .title = "Rollout from a token",
         .across_texts = true,
         .needs = {.layer = true, .query = true},
         .last_layer = true,
         .options = options_of<PathsViewOptions>(),
         .make = paths<false>},
        {.id = "flow",
         .title = "Attention flow",
         .across_texts = true,
         .needs = {.layer = true},
         .last_layer = true,
         .options = options_of<RolloutViewOptions>({.flow = true}),
         .make = followed<true>},
        {.id = "flow-paths",
         .title = "Attention flow from a token",
         .across_texts = true,
         .needs = {.layer = true, .query = true, .key = true},
         .last_layer = true,
         .options = options_of<PathsViewOptions>(),
         .make = paths<true>},
    };
}

}  // namespace headlight::figure
