// SPDX-License-Identifier: GPL-3.0-or-later
// Views of how a state came about: contribution graph, drivers of a neuron and neurons over tokens.
#pragma once

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
    double threshold = 0.04;
    bool keep_sizes = false;  ///< what stays is not brought to a sum of 1 again
    std::string edge{};       ///< "3:4:13": layer, source and target of the edge whose heads are listed
    HeadId head{};            ///< its maps are shown when it is one of that edge's
};
/// What a token's last state is made of, layer by layer. The graph of the last few questions is kept.
std::unique_ptr<Figure> contribution_graph_view(TracePtr, Position target, const ContributionViewOptions&, const CancelToken&,
                                                const Progress& = {});

struct DriversViewOptions {
    std::optional<analyze::NeuronId> neuron{};  ///< none: the strongest memory of the layer at the token
    HeadId head{};    ///< its sources and downstream neurons; without a neuron, or later than it: the head that drives most
    bool up = false;  ///< of a gated MLP: the linear branch
    std::optional<std::int64_t> promotes{};  ///< token whose logit's neurons are listed; none: the likeliest at the token
};
/// What drives a neuron's pre-activation at a token, what a head drives, and which neurons promote a token.
std::unique_ptr<Figure> drivers_view(TracePtr, Layer, Position, const DriversViewOptions&, const CancelToken& = {},
                                     const Progress& = {});

/// Which experts every token goes through (layer by layer, or of one layer), and with what weight.
std::unique_ptr<Figure> experts_view(TracePtr, Layer, bool all_layers);

struct NeuronMapViewOptions {
    analyze::NeuronOrder order = analyze::NeuronOrder::strength;
    std::int64_t rows = 60;
    bool by_row = false;  ///< each neuron over its own largest coefficient
};
/// Coefficients of a layer's neurons at every token.
std::unique_ptr<Figure> neuron_map_view(TracePtr, Layer, const NeuronMapViewOptions&, const CancelToken&);

}  // namespace headlight::figure
