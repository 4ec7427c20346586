// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/intervention/compare/comparison.h"

#include <ATen/ATen.h>

namespace headlight::intervention {

inline constexpr double kLeastRow = 1e-6;  ///< below it a row without its first key is not defined

/// A head's weights on units: from a unit the mean over its tokens, to a unit the sum (Clark et al. 2019, 4.1). [query, key]
Eigen::MatrixXd pooled_pattern(const trace::Trace&, HeadId, const std::vector<TextUnit>& queries,
                               const std::vector<TextUnit>& keys, const CancelToken& = {});
/// Means over the tokens of each unit, of a tensor [position, feature].
Eigen::MatrixXd pooled_rows(const at::Tensor&, const std::vector<TextUnit>&);

/// Pairs of rows that are compared: aligned, without those that hold a causal model's first query.
struct RowPair {
    std::int64_t a, b;
};
std::vector<RowPair> compared_rows(const RunPair&);

/// A row of one text: its weights on the keys that both texts have, in their order, and on none (the sink of a softmax, what an
/// edit took away) at the end; `rest` is on the others.
struct SideRow {
    std::vector<double> common;
    double rest = 0;
    bool defined = true;
};
/// `keys`: the columns of the map that both texts have.
SideRow side_row(const Eigen::MatrixXd& map, Eigen::Index row, const std::vector<std::int64_t>& keys, const CompareOptions&);
/// Those columns of a and of b.
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> common_keys(const RunPair&);

}  // namespace headlight::intervention
