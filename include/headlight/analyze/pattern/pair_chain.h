// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/ids.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headlight::analyze {

/// A vocabulary entry and what a head's update adds to its logit.
struct TokenEffect {
    std::int64_t id = 0;
    std::string label;
    double logit = 0;
};

/// Why one query attends to one key with one head, and what follows: the Inspector's numbers.
struct PairChain {
    HeadId head;
    Position query, key;
    bool legal = true;               ///< false: the key is masked (causal); the rest is then not set
    double weight = 0;               ///< softmax weight a_ij
    std::int64_t rank = 1, of = 1;   ///< of the weight among the row's legal keys
    double qk = 0;                   ///< q.k, unscaled, after rotation
    double scale = 0;                ///< score_scale_of() the layer
    double content = 0;              ///< scale q.k, or for rotary models scale q.k without rotation
    std::optional<double> position;  ///< additive term; empty: this model has no separable one
    std::string
        position_kind;  ///< "ALiBi", "ALiBi, rounded to bfloat16", "rotary", "learned, inside the stream", "disentangled", "none"
    double score = 0;   ///< content + position
    double value_norm = 0;           ///< |v_j W_O^h|: what the key's value writes, for a weight of 1 (Kobayashi 2020)
    double weighted_value_norm = 0;  ///< a_ij |v_j W_O^h|
    double raw_value_norm = 0;       ///< |v_j| in the head's own d_head numbers, before W_O
    double update_ratio = 0;         ///< |u_i| / |h_i|, u = z_h W_O of the whole head, h = resid_pre; NaN when h is 0
    double update_cosine = 0;        ///< cos(u_i, h_i); NaN when either is 0
    /// What the whole head's update u_i adds to the logits at i, through the final norm of the run at i:
    /// ((u - mean(u)) / sigma * gain) W_U, without centring for RMSNorm (direct logit attribution).
    /// Empty where this is not exact: no unembedding, bidirectional models (the MLM head is not linear), post-norm.
    std::vector<TokenEffect> promoted;    ///< largest first
    std::vector<TokenEffect> suppressed;  ///< most negative first
    /// The same for this key's part alone, a_ij v_j W_O^h.
    std::vector<TokenEffect> pair_promoted, pair_suppressed;
};

/// `top` entries in each list of tokens; 0 leaves them out and is the fast way. Error when head or position do not
/// exist.
PairChain pair_chain(const trace::Trace&, HeadId, Position query, Position key, std::int64_t top = 5, const CancelToken& = {});

}  // namespace headlight::analyze
