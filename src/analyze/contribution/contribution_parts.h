// SPDX-License-Identifier: GPL-3.0-or-later
// Weights of the parts of a state, token by token and head by head: what the graph of contributions is made of.
#pragma once

#include "headlight/analyze/contribution/contributions.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace headlight::analyze {

/// Tokens whose patterns are held at a time.
constexpr std::int64_t kStretch = 128;

/// Tokens [first, first + count).
struct TokenRange {
    std::int64_t first = 0, count = 1;
};

/// Shares of some tokens behind the MLP, one after the other.
std::vector<MlpShares> shares_behind_mlp(const trace::Trace&, Layer, TokenRange);

/// One layer's values written out, v_j W_O^h, made once for all tokens that ask: [key, head, d_model].
class WrittenValues {
public:
    /// `attention` is the run itself, or its attention to a source: then keys are the source's tokens.
    WrittenValues(const trace::Trace& run, const trace::Trace& attention, Layer);

    /// Rows of every head's pattern for a stretch of tokens: [head, count, key].
    at::Tensor patterns(std::int64_t first, std::int64_t count) const;
    AttentionShares shares(Position) const;
    /// Of up to kStretch tokens at once, in order; with the patterns of a stretch of tokens that begins at `first`.
    std::vector<AttentionShares> shares(const std::vector<std::int64_t>& tokens, const at::Tensor& stretch,
                                        std::int64_t first) const;

private:
    const trace::Trace& run_;
    const trace::Trace& attention_;
    Layer layer_;
    at::Tensor written_;            ///< [key, head, d_model]
    at::Tensor inverse_;            ///< [token] one over the scale of the norm behind the attention; 1 without
    at::Tensor lengths_, longest_;  ///< [key, head], sum and largest of absolute values
};

}  // namespace headlight::analyze
