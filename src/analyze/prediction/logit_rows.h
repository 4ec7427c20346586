// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of logits read once or twice each: best tokens, entropy, ranks, without a softmax of the row.
#pragma once

#include "headlight/analyze/prediction/logit_lens.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace headlight::analyze {

/// Normaliser of one row: p_t = exp(x_t - log_sum).
struct RowNumbers {
    double log_sum = 0;
    double entropy = 0;  ///< nats
};

/// What was found of a row while its logits were made: extremes of its blocks, and the sums over exp(x - highest).
struct ReadRow {
    const float *maxima = nullptr, *minima = nullptr;
    float highest = 0;
    double sum = 0, weighted = 0;
};

/// Reads rows of one length; keeps its scratch memory. One for each thread.
class LogitRow {
public:
    /// The row stays the caller's and must live as long as it is asked about.
    LogitRow(const float* logits, std::int64_t vocab);
    /// A row of which this is known; that too stays the caller's.
    LogitRow(const float* logits, std::int64_t vocab, const ReadRow& known);
    LogitRow(const LogitRow&) = delete;
    LogitRow& operator=(const LogitRow&) = delete;
    RowNumbers numbers() const;
    /// The `count` largest (smallest) logits, best first, equal ones by token id.
    std::vector<TokenScore> largest(std::int64_t count, double log_sum) const;
    std::vector<TokenScore> smallest(std::int64_t count, double log_sum) const;
    /// 0: no logit is larger.
    std::int64_t rank(std::int64_t id) const;
    float highest() const { return known_.highest; }

private:
    const float* x_;
    std::int64_t vocab_;
    std::vector<float> own_;  ///< maxima of kernels::kBlock logits each, where nobody else has them
    ReadRow known_;
};

/// Logits to compute at a time, rows x vocabulary: 64 MB.
constexpr std::int64_t kLogitsAtATime = 16 << 20;
inline std::int64_t logit_rows_at_a_time(std::int64_t vocab) {
    const std::int64_t rows = kLogitsAtATime / vocab;
    return rows < 16 ? 16 : rows > 512 ? 512 : rows;
}

/// Of `count` rows in as few equal parts as hold at most `most` each: a small rest would cost as much as a part.
inline std::int64_t even_share(std::int64_t count, std::int64_t most) {
    const std::int64_t parts = (count + most - 1) / most;
    return parts > 0 ? (count + parts - 1) / parts : 0;
}

/// Calls fn(i, row) for the logits rows[i] W_U of every row, from several threads. rows: [n, d_model], w_u: [d_model, vocab].
/// Each core makes a tile of logits and reads it while it is in its cache, so that reading costs next to nothing beside
/// the product. At most kLogitsAtATime logits stand at once.
void for_each_product_row(const at::Tensor& rows, const at::Tensor& w_u,
                          const std::function<void(std::int64_t, const LogitRow&)>& fn);

}  // namespace headlight::analyze
