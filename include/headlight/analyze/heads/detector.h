// SPDX-License-Identifier: GPL-3.0-or-later
// Is a head of a known kind? Its pattern against the pattern that such a head would have on the same tokens.
// TransformerLens's head detector, without its rounding (docs/measures.md).
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

enum class HeadKind { previous_token, duplicate_token, induction };
/// [query, key] of 0 and 1, lower triangular. previous_token: key i-1. duplicate_token: earlier copies of the token.
/// induction: the keys behind them, as far as the query itself: duplicate_token one column to the right.
Matrix detection_pattern(HeadKind, const std::vector<std::int64_t>& ids);

enum class DetectorMeasure {
    mul,  ///< share of the attention that is where the detection pattern is 1
    abs,  ///< 1 - mean over queries of sum_j |a_ij - d_ij|; -1 to 1
};
struct DetectorOptions {
    DetectorMeasure measure = DetectorMeasure::mul;
    bool exclude_first = false;    ///< without attention to the first token; the rest is not renormalised
    bool exclude_current = false;  ///< without attention to the query itself
};
/// NaN when no attention is left to measure. Error when the two are not of one square size.
double detector_score(const Matrix& pattern, const Matrix& detection, const DetectorOptions& = {});

/// The score of every head: [layer, head].
Eigen::MatrixXd detector_scores(const trace::Trace&, HeadKind, const DetectorOptions& = {});

}  // namespace headlight::analyze
