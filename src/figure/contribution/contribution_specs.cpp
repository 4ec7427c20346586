// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/contribution/contribution_views.h"
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"

namespace headlight::figure {
namespace {

Position last_or_pinned(const trace::Trace& trace, const ViewState& state) {
    return state.query.value_or(Position(trace.tokens() - 1));
}

analyze::NeuronOrder order_of(const std::string& word) {
    return word == "peak"        ? analyze::NeuronOrder::peak
           : word == "clustered" ? analyze::NeuronOrder::clustered
           : word == "number"    ? analyze::NeuronOrder::index
                                 : analyze::NeuronOrder::strength;
}

std::string no_output(const trace::Trace& trace) {
    const model::ModelConfig& c = trace.config();
    if (!c.has_unembedding)
        return "This model has no unembedding: it predicts no tokens. The memories of a layer and every view of attention "
               "work.";
    return c.causal || c.mlm_head ? "" : "This model neither predicts the next token nor fills in a masked one.";
}

ViewSpec contribution_spec() {
    return {
        .id = "contribution-graph",
        .title = "Contribution graph",
        .group = "Prediction",
        .needs = {.focus = true, .query = true},
        .options =
            {{.name = "least-share",
              .kind = OptionKind::number,
              .title = "Threshold",
              .help = "contribution-graph: parts of a state under this share are dropped",
              .initial = "0.04",
              .low = 0.002,
              .high = 0.5,
              .slider = true},
             {.name = "keep-sizes",
              .kind = OptionKind::flag,
              .title = "Do not bring what stays to a sum of 1",
              .help = "contribution-graph: do not bring what stays to a sum of 1 again",
              .initial = ""},
             {.name = "edge",
              .kind = OptionKind::text,
              .title = "Opened line",
              .help =
                  "contribution-graph: LAYER:FROM:TO, the line of attention whose heads and maps are shown; behind an encoder also cross:LAYER:FROM:TO and encoder:LAYER:FROM:TO",
              .initial = ""}},
        .make = [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
            const Position target = last_or_pinned(*trace, s);
            return contribution_graph_view(std::move(trace), target,
                                           {.threshold = number_value(s, "least-share"),
                                            .keep_sizes = flag_value(s, "keep-sizes"),
                                            .edge = text_value(s, "edge"),
                                            .head = s.focus()},
                                           cancel);
        }};
}

ViewSpec neuron_map_spec() {
    return {
        .id = "neuron-map",
        .title = "Neuron map",
        .group = "Prediction",
        .needs = {.layer = true},
        .options = {{.name = "order",
                     .kind = OptionKind::choice,
                     .title = "Order of the neurons",
                     .help = "neuron-map: in which order the neurons stand",
                     .initial = "strength",
                     .choices = {{"strength", "Strongest first"},
                                 {"peak", "By the token of the largest"},
                                 {"clustered", "Clustered"},
                                 {"number", "By number"}}},
                    {.name = "rows",
                     .kind = OptionKind::integer,
                     .title = "Neurons",
                     .help = "neuron-map: how many of the layer's strongest neurons are rows",
                     .initial = "60",
                     .low = 1,
                     .high = static_cast<double>(analyze::most_clustered)},
                    {.name = "by-row",
                     .kind = OptionKind::flag,
                     .title = "Each neuron by its own largest",
                     .help = "neuron-map: colours over each neuron's own largest coefficient",
                     .initial = ""}},
        .make = [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
            return neuron_map_view(
                std::move(trace), s.layer,
                {.order = order_of(text_value(s, "order")), .rows = integer_value(s, "rows"), .by_row = flag_value(s, "by-row")},
                cancel);
        }};
}

}  // namespace

std::vector<ViewSpec> flow_view_specs() {
    return {contribution_spec(),
            {.id = "drivers",
             .title = "Drivers of a neuron",
             .group = "Prediction",
             .needs = {.focus = true, .query = true, .neuron = true},
             .options = {{.name = "up",
                          .kind = OptionKind::flag,
                          .title = "Linear branch of a gated MLP",
                          .help = "drivers: of a gated MLP the linear branch instead of the gate",
                          .initial = ""},
                         {.name = "promotes",
                          .kind = OptionKind::text,
                          .title = "Neurons that promote",
                          .help = "drivers: the token whose next-token neurons are listed, by id or text; by default the "
                                  "likeliest there",
                          .initial = ""}},
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken&) {
                     const Position position = last_or_pinned(*trace, s);
                     const DriversViewOptions options{.neuron = s.neuron,
                                                      .head = s.focus(),
                                                      .up = flag_value(s, "up"),
                                                      .promotes = token_value(*trace, s, "promotes")};
                     return drivers_view(std::move(trace), s.layer, position, options);
                 }},
            neuron_map_spec(),
            {.id = "experts",
             .title = "Experts",
             .group = "Prediction",
             .needs = {.layer = true},
             .options = {{.name = "every-layer",
                          .kind = OptionKind::flag,
                          .title = "All layers",
                          .help = "experts: every layer that has experts, under each other",
                          .initial = ""}},
             .make = [](TracePtr trace, const ViewState& s,
                        const CancelToken&) { return experts_view(std::move(trace), s.layer, flag_value(s, "every-layer")); },
             .missing = [](const trace::Trace& trace) -> std::string {
                 return trace.config().experts.count > 0 ? ""
                                                         : "This model has no experts: every token goes through the whole MLP.";
             }},
            {.id = "predictions",
             .title = "Predictions",
             .group = "Prediction",
             .needs = {.query = true},
             .options = {{.name = "candidates",
                          .kind = OptionKind::integer,
                          .title = "Candidates",
                          .help = "predictions: how many likely tokens are listed",
                          .initial = "5",
                          .low = 1,
                          .high = 100}},
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
                     return predictions_view(std::move(trace), s.query, integer_value(s, "candidates"), cancel);
                 },
             .missing = no_output}};
}

}  // namespace headlight::figure
