// SPDX-License-Identifier: GPL-3.0-or-later
// A pass over the last tokens of a text whose first ones have been run. Internal to src/model and src/trace.
#pragma once

#include "model/run/forward.h"

#include <functional>

namespace headlight::model {

/// What a pass over the first tokens of a text left for those behind them.
struct EarlierRows {
    /// Of one layer, of these tokens, as its scores and mixtures read them: [head, pos, d_head], k and v of kv_heads, v of
    /// d_value.
    struct Attention {
        at::Tensor q, k, v;
    };
    std::int64_t rows = 0;
    std::function<Attention(Layer)> attention{};  ///< called once a layer, before its scores
};

/// Whether the first rows of a text of `tokens` tokens are those of the same beginning of `others` tokens: a causal model of one
/// stack whose positions count from the first token and whose rotation is the same at both lengths.
bool rows_stay(const ModelConfig&, std::int64_t tokens, std::int64_t others);

/// forward() of the tokens from earlier.rows on (at least one), of which the observer sees the rows, but no scores, patterns and
/// their terms; pattern tiles come of all queries, where it wants them. Numbers equal those of forward() to the rounding that
/// another product's shape brings.
void forward_last_rows(const Model&, const ForwardInput& text, const EarlierRows& earlier, Observer&, const CancelToken&,
                       const Progress&);

}  // namespace headlight::model
