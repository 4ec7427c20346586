// SPDX-License-Identifier: GPL-3.0-or-later
// Max- and mean-pooling of a map that arrives row by row.
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

/// The cell of an `n`-cell axis over `length` items that item `i` falls into: cell c covers [c*length/n,
/// (c+1)*length/n).
constexpr std::int64_t pooled_cell(std::int64_t i, std::int64_t length, std::int64_t n) noexcept {
    return ((i + 1) * n - 1) / length;
}

/// Number of cells that a picture already pooled to `cells` can be pooled to again without cutting through a cell:
/// the largest divisor of `cells` that is at most `side`.
std::int64_t repooled_side(std::int64_t cells, std::int64_t side) noexcept;

class Pooler {
public:
    /// A map of rows x columns items, pooled to at most side x side cells.
    Pooler(std::int64_t rows, std::int64_t columns, std::int64_t side);
    /// Row `row` of the map; only the first `legal` columns count.
    void add(std::int64_t row, const float* values, std::int64_t legal);
    /// 0 where a cell has no legal pair.
    PooledMap result(HeadId) const;

private:
    std::int64_t rows_, columns_;
    Matrix max_;
    Eigen::MatrixXd sum_, count_;
    std::vector<std::int64_t> cell_of_column_;
};

}  // namespace headlight::analyze
