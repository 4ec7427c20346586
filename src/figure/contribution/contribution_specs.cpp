// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/contribution/contribution_views.h"
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"

namespace headlight::figure {
namespace {

Position last_or_pinned(const trace::Trace& trace, const ViewState& state) {
    return state.query.value_or(Position(trace.tokens() - 1));
}

ViewSpec contribution_spec() {
    return {.id = "contribution-graph",
            .title = "Contribution graph",
            .across_texts = true,
            .reads_class = true,
            .needs = {.focus = true, .query = true, .chosen = true},
            .options =
                {{.name = "least-share",
                  .kind = OptionKind::number,
                  .title = "Threshold",
                  .help = "contribution-graph: parts of a state under this share are dropped",
                  .initial = "0.04",
                  .low = 0.002,
                  .high = 0.5,
                  .slider = true},
                 flag("keep-sizes", "Do not rescale what stays to a sum of 1",
                      "contribution-graph: do not rescale what stays to a sum of 1"),
                 text_option(
                     "edge", "Opened line",
                     "contribution-graph: LAYER:FROM:TO, the line of attention whose heads and maps are shown; with an encoder "
                     "also cross:LAYER:FROM:TO and encoder:LAYER:FROM:TO",
                     "LAYER:FROM:TO, or click a line")},
            .make = [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                const Position target = last_or_pinned(*trace, s);
                return contribution_graph_view(std::move(trace), target,
                                               {.threshold = number_value(s, "least-share"),
                                                .keep_sizes = flag_value(s, "keep-sizes"),
                                                .edge = text_value(s, "edge"),
                                                .head = s.focus()},
                                               cancel, progress);
            }};
}

ViewSpec neuron_map_spec() {
    return {
        .id = "neuron-map",
        .title = "Neuron map",
        .needs = {.layer = true},
        .options = {choice("order", "Order of the neurons", "neuron-map: order of the neurons", analyze::NeuronOrder::strength),
                    integer_option("rows", "Neurons", "neuron-map: how many of the layer's strongest neurons are rows", "60", 1,
                                   static_cast<double>(analyze::most_clustered)),
                    flag("by-row", "Each neuron by its own largest",
                         "neuron-map: colours over each neuron's own largest coefficient")},
        .make = [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
            return neuron_map_view(std::move(trace), s.layer,
                                   {.order = choice_value<analyze::NeuronOrder>(s, "order"),
                                    .rows = integer_value(s, "rows"),
                                    .by_row = flag_value(s, "by-row")},
                                   cancel);
        }};
}

}  // namespace

std::vector<ViewSpec> contribution_view_specs() {
    return {contribution_spec(),
            {.id = "drivers",
             .title = "Drivers of a neuron",
             .reads_class = true,
             .needs = {.focus = true, .query = true, .chosen = true, .neuron = true},
             .options =
                 {flag("up", "Linear branch of a gated MLP", "drivers: of a gated MLP the linear branch instead of the gate"),
                  token_option(
                      "promotes", "Neurons that promote",
                      "drivers: the token whose next-token neurons are listed, by id or text; by default the most probable one "
                      "there")},
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     const Position position = last_or_pinned(*trace, s);
                     const DriversViewOptions options{.neuron = s.neuron,
                                                      .head = s.focus(),
                                                      .up = flag_value(s, "up"),
                                                      .promotes = token_value(*trace, s, "promotes")};
                     return drivers_view(std::move(trace), s.layer, position, options, cancel, progress);
                 },
             .filters = true},
            neuron_map_spec(),
            {.id = "experts",
             .title = "Experts",
             .needs = {.layer = true},
             .options = {flag("every-layer", "All layers", "experts: every layer that has experts, under each other")},
             .make = [](TracePtr trace, const ViewState& s, const CancelToken&,
                        const Progress&) { return experts_view(std::move(trace), s.layer, flag_value(s, "every-layer")); },
             .missing = [](const trace::Trace& trace) -> std::string {
                 return trace.config().experts.count > 0 ? ""
                                                         : "This model has no experts: every token goes through the whole MLP.";
             }}};
}

}  // namespace headlight::figure
