// SPDX-License-Identifier: GPL-3.0-or-later
// What rollout and flow are made of.
#pragma once

#include "headlight/analyze/rollout.h"

#include <cstdint>

namespace headlight::analyze {

/// One head's whole pattern, [query, key].
Matrix head_pattern(const trace::Trace&, HeadId);
/// J of a layer: mean of its heads' patterns and the residual.
Matrix joint_attention(const trace::Trace&, Layer);
/// Edges that all questions of a text look at, after the last or after every layer.
double flow_work(std::int64_t layers, bool all_layers, std::int64_t tokens, bool causal);
/// Error when so many questions on this text would take too long.
void check_path_flow(const trace::Trace&, std::int64_t layers, std::int64_t questions);

}  // namespace headlight::analyze
