// SPDX-License-Identifier: GPL-3.0-or-later
// What rollout and flow are made of.
#pragma once

#include "headlight/analyze/rollout/rollout.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

/// For the caption of anything that follows attention through the layers.
inline constexpr const char* kConvolutionNote =
    "The convolution beside layer 0 also hands on what neighbouring tokens were; it has no attention and is not counted.";

/// One head's whole pattern, [query, key].
Matrix head_pattern(const trace::Trace&, HeadId);
/// J of a layer: mean of its heads' patterns and the residual.
Matrix joint_attention(const trace::Trace&, Layer);
/// Mean pattern of a layer's heads that read a source: [target, source].
Matrix mean_cross(const trace::Trace& cross, Layer);
/// What rollout and flow of a decoder behind an encoder cannot be asked for is an error.
void check_decoder(const trace::Trace&, const RolloutOptions&);
/// rollout() of a decoder behind an encoder.
Rollout decoder_rollout(const trace::Trace&, const RolloutOptions&, const CancelToken&, const Progress&);
/// Edges of the networks of all questions of one text: one to two minutes on two cores.
constexpr double most_flow_work = 2e10;
/// Error when so many [token, token] maps do not fit into memory.
void check_map_memory(const trace::Trace&, std::int64_t tokens, std::int64_t maps, const char* hint);
/// Edges of the networks of every pair's question, after the last or after every layer.
double flow_work(std::int64_t layers, bool all_layers, std::int64_t tokens, bool causal);
/// The same for one query and every input.
double flow_row_work(std::int64_t layers, bool all_layers, std::int64_t tokens, bool causal);
/// Largest flows of one query to every input, not normalised.
Eigen::VectorXd flow_row(const std::vector<Matrix>& joint, bool causal, Position query, const CancelToken&, const Progress&);
/// Error when the flows of one query on this text would take too long, or not fit into memory.
void check_path_flow(const trace::Trace&, std::int64_t layers, bool all_inputs);

}  // namespace headlight::analyze
