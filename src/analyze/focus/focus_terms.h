// SPDX-License-Identifier: GPL-3.0-or-later
// The terms of one head's score as tensors, in float64.
#pragma once

#include "headlight/analyze/focus/focus.h"
#include "headlight/trace/trace.h"

#include <ATen/ATen.h>

#include <cstdint>

namespace headlight::analyze {

class ScoreTerms {
public:
    ScoreTerms(const trace::Trace&, HeadId, const FocusOptions&);

    const FocusFacts& facts() const noexcept { return facts_; }
    /// Terms of chosen pairs: [pair, term]. Both index tensors are [pair] int64. Terms that do not exist are NaN.
    at::Tensor pairs(const at::Tensor& queries, const at::Tensor& keys) const;
    /// Terms of queries [first, first + count) with keys [0, keys): [count, key, term].
    at::Tensor rows(std::int64_t first, std::int64_t count, std::int64_t keys) const;
    /// s b_q.k_j: [key]; zeros without query bias.
    at::Tensor bias_of_keys() const;
    /// What ALiBi adds to the score of each key, as transformers adds it: [key], undefined without ALiBi.
    const at::Tensor& alibi() const noexcept { return alibi_; }
    /// What absolute positions add to every score of a query: m_h i. 0 otherwise.
    double row_constant(std::int64_t query) const { return absolute_ ? alibi_.data_ptr<double>()[query] : 0; }

private:
    at::Tensor join(const at::Tensor& position, const at::Tensor& bias, const at::Tensor& quadratic, const at::Tensor& key_bias,
                    const at::Tensor& constant) const;

    const trace::Trace* trace_;  ///< outlives this
    FocusFacts facts_;
    bool absolute_ = false, five_ = false, relative_ = false;
    at::Tensor q_, k_;          ///< [token, d_head] before rotation; q_ without its bias; k_ without its with five terms
    at::Tensor rot_q_, rot_k_;  ///< [token, d_head], undefined without rotation
    at::Tensor alibi_;          ///< [token] float64, undefined without
    at::Tensor b_q_, b_k_;      ///< [d_head]; zeros without
};

/// Error when the list is empty or mixes models.
void check_one_model(Traces);

}  // namespace headlight::analyze
