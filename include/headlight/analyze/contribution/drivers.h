// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/contribution/neuron_id.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headlight::analyze {

/// Which weights of a gated MLP read the stream: the gate (hook_pre) or the linear branch (hook_pre_linear).
enum class Branch { gate, up };
inline constexpr Field kUpBranch =
    Field{"up", "Linear branch of a gated MLP", "of a gated MLP the linear branch instead of the gate"};

/// What drives a neuron at a position (docs/views/drivers.md): its pre-activation w_in . LN2(resid_mid) + b_in with the norm's
/// scale as it was in the run, split over every head, MLP, embedding and bias before it. `final_bias` is the norm's bias through
/// w_in plus b_in. Earlier norms that lie in the way (post-norm models) are held at their scales too.
/// Errors: layer, neuron or position that does not exist; Branch::up where there is no such branch; a neuron whose expert was
/// not chosen for the token, so that it has no pre-activation.
Decomposition neuron_drivers(const trace::Trace&, NeuronId, Position, Branch = Branch::gate);

/// One head's part of the same number over the source tokens: [token].
Eigen::VectorXd neuron_sources(const trace::Trace&, NeuronId, HeadId, Position, Branch = Branch::gate);

/// A neuron and a number that belongs to it.
struct NeuronScore {
    NeuronId id;
    double value = 0;
    double pre = 0;  ///< whole pre-activation at the position (downstream), or 0
};

/// The neurons of the head's own and all later layers whose pre-activation the head's output at the position changes most
/// by the direct path, largest amount first. Neurons of experts that the token does not go through are left out.
std::vector<NeuronScore> downstream_neurons(const trace::Trace&, HeadId, Position, std::int64_t top);

/// Next-token neurons of a token (Neo 2024, arXiv 2402.15055): <w_out_i, W_U[:, t]>, largest first, all layers.
/// No text is needed. Error without unembedding.
std::vector<NeuronScore> next_token_neurons(const model::Model&, std::int64_t token, std::int64_t top);

/// A next-token neuron on a text, and the heads that drive it there.
struct NextTokenNeuron {
    NeuronId id;
    double score = 0;        ///< <w_out_i, W_U[:, t]>
    double coefficient = 0;  ///< m_i at the position
    /// To the logit, as attribution() of neurons has it; where a logit is no sum, score times coefficient.
    double adds = 0;
    double pre = 0;  ///< pre-activation (gated MLPs: of the gate), of which the heads give parts; NaN: its expert was not chosen
    std::vector<std::pair<HeadId, double>> heads;  ///< neuron_drivers()'s parts of heads, largest amount first
};

/// The neurons that add most to a token's logit at the position, largest first, and for each the `heads` heads that drive its
/// pre-activation most.
/// Errors: as next_token_neurons() and neuron_drivers().
std::vector<NextTokenNeuron> next_token_drivers(const trace::Trace&, std::int64_t token, Position, std::int64_t top,
                                                std::int64_t heads);

/// neuron_drivers() as table_of(Decomposition), with the definitions of a pre-activation.
Table drivers_table(const Decomposition&, HeadId head = {}, const Eigen::VectorXd& sources = {});
/// downstream_neurons(): layer, neuron, contribution, pre_activation.
Table downstream_table(const std::vector<NeuronScore>&);
/// next_token_neurons(): layer, neuron, score.
Table next_token_table(const std::vector<NeuronScore>&);
/// next_token_drivers(), a row for each head: layer, neuron, score, coefficient, pre_activation, from_layer, from_head,
/// contribution, logit_contribution.
Table table_of(const std::vector<NextTokenNeuron>&);

}  // namespace headlight::analyze
