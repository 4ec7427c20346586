// SPDX-License-Identifier: GPL-3.0-or-later
// A number out of logits.
#pragma once

#include "headlight/intervention/sweep/sweep.h"

#include <ATen/ATen.h>

namespace headlight::intervention {

/// The metric of the runs of one text of a pair, and which logits it needs.
class MetricReader {
public:
    /// Error for answers that are lacking.
    MetricReader(const model::ModelConfig&, const SweepPair&, const SweepText& run, Metric);
    /// What reads KL(P_clean || P): the clean run's logits there.
    void set_reference(const at::Tensor& logits);
    void share_reference(const MetricReader& other) { reference_ = other.reference_; }

    std::int64_t first() const { return first_; }  ///< rows [first, last) of the text
    std::int64_t last() const { return last_; }
    const std::vector<std::int64_t>& columns() const { return columns_; }                           ///< empty: all
    double operator()(const at::Tensor& logits) const { return tensor_of(logits).item<double>(); }  ///< [row, column]
    at::Tensor tensor_of(const at::Tensor& logits) const;  ///< with differentiable operators, but for the rank

private:
    at::Tensor divergence(const at::Tensor& logits) const;  ///< of one row from the clean run's, in nats

    const model::ModelConfig& config_;
    Metric metric_;
    std::vector<std::int64_t> answers_, columns_, next_;
    std::int64_t first_ = 0, last_ = 0;
    at::Tensor reference_;  ///< the clean run's logits, [vocab] float64
};

}  // namespace headlight::intervention
