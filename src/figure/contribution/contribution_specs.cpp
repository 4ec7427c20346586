// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/contribution/contribution_views.h"
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"

namespace headlight::figure {
namespace {

ViewSpec contribution_spec() {
    return {.id = "contribution-graph",
            .title = "Contribution graph",
            .across_texts = true,
            .reads_class = true,
            .needs = {.focus = true, .query = true, .chosen = true},
            .options = options_of<ContributionViewOptions>(),
            .make = [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                const Position target = pinned_or_last(*trace, s);
                return contribution_graph_view(std::move(trace), target,
                                               request_of<ContributionViewOptions>(s, {.head = s.focus()}), cancel, progress);
            }};
}

ViewSpec neuron_map_spec() {
    return {.id = "neuron-map",
            .title = "Neuron map",
            .needs = {.layer = true},
            .options = options_of<NeuronMapViewOptions>(),
            .make = [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
                return neuron_map_view(std::move(trace), s.layer, request_of<NeuronMapViewOptions>(s), cancel);
            }};
}

}  // namespace

std::vector<ViewSpec> contribution_view_specs() {
    return {contribution_spec(),
            {.id = "drivers",
             .title = "Drivers of a neuron",
             .reads_class = true,
             .needs = {.focus = true, .query = true, .chosen = true, .neuron = true},
             .options = options_of<DriversViewOptions>(),
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     const Position position = pinned_or_last(*trace, s);
                     const auto options = request_of<DriversViewOptions>(s, {.neuron = s.neuron, .head = s.focus()});
                     return drivers_view(std::move(trace), s.layer, position, options, cancel, progress);
                 },
             .filters = true},
            neuron_map_spec(),
            {.id = "experts",
             .title = "Experts",
             .needs = {.layer = true},
             .options = options_of<ExpertsViewOptions>(),
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken&, const Progress&) {
                     return experts_view(std::move(trace), s.layer, request_of<ExpertsViewOptions>(s).every_layer);
                 },
             .missing = [](const trace::Trace& trace) -> std::string {
                 return trace.config().experts.count > 0 ? ""
                                                         : "This model has no experts: every token goes through the whole MLP.";
             }}};
}

}  // namespace headlight::figure
