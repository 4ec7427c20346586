// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of logits read once or twice each: best tokens, entropy, ranks, without a softmax of the row.
#pragma once

#include "headlight/analyze/logit_lens.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

/// Normaliser of one row: p_t = exp(x_t - log_sum).
struct RowNumbers {
    double log_sum = 0;
    double entropy = 0;  ///< nats
};

/// Reads rows of one length; keeps its scratch memory. One for each thread.
class LogitRow {
public:
    /// The row stays the caller's and must live as long as it is asked about.
    LogitRow(const float* logits, std::int64_t vocab);
    RowNumbers numbers() const;
    /// The `count` largest (smallest) logits, best first, equal ones by token id.
    std::vector<TokenScore> largest(std::int64_t count, double log_sum) const;
    std::vector<TokenScore> smallest(std::int64_t count, double log_sum) const;
    /// 0: no logit is larger.
    std::int64_t rank(std::int64_t id) const;
    float highest() const { return highest_; }

private:
    const float* x_;
    std::int64_t vocab_;
    std::vector<float> maxima_;  ///< of kernels::kBlock logits each
    float highest_;
};

/// Logits to compute at a time, rows x vocabulary: 64 MB.
constexpr std::int64_t kLogitsAtATime = 16 << 20;
inline std::int64_t logit_rows_at_a_time(std::int64_t vocab) {
    const std::int64_t rows = kLogitsAtATime / vocab;
    return rows < 16 ? 16 : rows > 512 ? 512 : rows;
}

}  // namespace headlight::analyze
