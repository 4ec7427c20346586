// SPDX-License-Identifier: GPL-3.0-or-later
// Views of how a state came about: contribution graph, drivers of a neuron and neurons over tokens.
#pragma once

#include "headlight/analyze/contribution/contributions.h"
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/analyze/contribution/neuron_id.h"
#include "headlight/analyze/contribution/neuron_map.h"
#include "headlight/base/job.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace headlight::figure {

struct ContributionViewOptions {
    analyze::ContributionRequest asked{};
    std::string edge{};  ///< "3:4:13": layer, source and target of the edge whose heads are listed
    HeadId head{};       ///< its maps are shown when it is one of that edge's
};
void describe(Describes<ContributionViewOptions> auto& r, const auto& field) {
    describe(r.asked, field);
    field(Field{"edge", "Opened line",
                "LAYER:FROM:TO, the line of attention whose heads and maps are shown; with an encoder also cross:LAYER:FROM:TO "
                "and encoder:LAYER:FROM:TO"}
              .or_if_empty("LAYER:FROM:TO, or click a line"),
          r.edge);
}
/// What a token's last state is made of, layer by layer. The graph of the last few questions is kept.
std::unique_ptr<Figure> contribution_graph_view(TracePtr, Position target, const ContributionViewOptions&, const CancelToken&,
                                                const Progress& = {});

struct DriversViewOptions {
    std::optional<analyze::NeuronId> neuron{};  ///< none: the strongest memory of the layer at the token
    HeadId head{};    ///< its sources and downstream neurons; without a neuron, or later than it: the head that drives most
    bool up = false;  ///< of a gated MLP: the linear branch
    std::string promotes{};  ///< token whose logit's neurons are listed, as typed; empty: the likeliest at the token
};
void describe(Describes<DriversViewOptions> auto& r, const auto& field) {
    field(analyze::kUpBranch, r.up);
    field(Field{"promotes", "Neurons that promote",
                "the token whose next-token neurons are listed (default: the most probable one there)"}
              .as(FieldKind::token),
          r.promotes);
}
/// What drives a neuron's pre-activation at a token, what a head drives, and which neurons promote a token.
std::unique_ptr<Figure> drivers_view(TracePtr, Layer, Position, const DriversViewOptions&, const CancelToken& = {},
                                     const Progress& = {});

struct ExpertsViewOptions {
    bool every_layer = false;
};
void describe(Describes<ExpertsViewOptions> auto& r, const auto& field) {
    field(Field{"every-layer", "All layers", "every layer that has experts, under each other"}, r.every_layer);
}
/// Which experts every token goes through (layer by layer, or of one layer), and with what weight.
std::unique_ptr<Figure> experts_view(TracePtr, Layer, bool all_layers);

struct NeuronMapViewOptions {
    analyze::NeuronOrder order = analyze::NeuronOrder::strength;
    std::int64_t rows = 60;
    bool by_row = false;  ///< each neuron over its own largest coefficient
};
void describe(Describes<NeuronMapViewOptions> auto& r, const auto& field) {
    field(Field{"order", "Order of the neurons", "order of the neurons"}, r.order);
    field(Field{"rows", "Neurons", "how many of the layer's strongest neurons are rows"}.within(
              1, static_cast<double>(analyze::most_clustered)),
          r.rows);
    field(Field{"by-row", "Each neuron by its own largest", "colours over each neuron's own largest coefficient"}, r.by_row);
}
/// Coefficients of a layer's neurons at every token.
std::unique_ptr<Figure> neuron_map_view(TracePtr, Layer, const NeuronMapViewOptions&, const CancelToken&);

}  // namespace headlight::figure
