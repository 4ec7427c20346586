// SPDX-License-Identifier: GPL-3.0-or-later
// The network of a decoder behind an encoder: the source's tokens and the target's as one text.
#pragma once

#include "headlight/analyze/rollout/rollout.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

struct BothTexts {
    std::int64_t source = 0, target = 0, source_layers = 0;
    std::int64_t all() const { return source + target; }
    /// Up to and with `layers` of the decoder's: the encoder's, then two for each.
    std::int64_t steps(std::int64_t layers) const { return source_layers + 2 * layers; }
};
BothTexts both_texts(const trace::Trace& decoder);

/// Capacities of every step from the inputs up to behind the decoder's layer `last`, tokens of the source first: the encoder's
/// J; then of each layer of the decoder its own J and (I + C) / 2, with C the mean cross pattern. What a step does not touch
/// passes it without a limit (2 is more than can flow: what leaves a query sums to 1): the encoder's output is one node for all
/// layers that read it. With `passing` 1 rows sum to 1, and the product of all steps is the rollout.
std::vector<Matrix> joint_steps(const trace::Trace& decoder, std::int64_t last, const CancelToken& = {}, float passing = 2);

/// attention_flow() of a decoder behind an encoder.
Rollout decoder_flow(const trace::Trace&, const RolloutOptions&, const CancelToken&, const Progress&);

}  // namespace headlight::analyze
