// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/contribution/neuron_id.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/table.h"
#include "headlight/trace/trace.h"

#include <vector>

namespace headlight::analyze {

/// What the router of a layer with experts did with every token (Shazeer et al. 2017).
struct ExpertUse {
    Layer layer;
    Matrix weights;  ///< [token, expert] what the expert's output (Llama 4: its input) is multiplied with; exactly 0: not chosen,
                     ///< not computed
    Matrix logits;   ///< [token, expert] of the router
    Vector shared;   ///< [token] weight of the shared expert (Qwen2-MoE); empty: there is none, or it is always 1
};
/// Error: a layer that does not exist or has no experts, a run that did not keep the router's tensors.
ExpertUse expert_use(const trace::Trace&, Layer);

/// Layers that have experts, in order; none in most models.
std::vector<Layer> layers_with_experts(const model::ModelConfig&);

/// False: the neuron belongs to an expert that was not chosen for the token, and was not computed.
bool neuron_works(const trace::Trace&, NeuronId, Position);
/// The same of all neurons of a layer: [neuron].
std::vector<bool> working_neurons(const trace::Trace&, Layer, Position);

/// A row for each expert that works for a token: layer, position, token, expert, weight, router_logit.
/// NPZ also: layer_N_weights and layer_N_logits, [token, expert].
Table table_of(const std::vector<ExpertUse>&, const trace::Trace&);

}  // namespace headlight::analyze
