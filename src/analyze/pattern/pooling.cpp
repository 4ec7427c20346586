// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/pooling.h"

#include <algorithm>

namespace headlight::analyze {

std::int64_t repooled_side(std::int64_t cells, std::int64_t side) noexcept {
    for (std::int64_t n = std::min(cells, side); n > 1; --n)
        if (cells % n == 0) return n;
    return cells > 0 && side > 0 ? 1 : 0;
}

Pooler::Pooler(std::int64_t rows, std::int64_t columns, std::int64_t side) : rows_(rows), columns_(columns) {
    const std::int64_t r = std::min(rows, side), c = std::min(columns, side);
    max_ = Matrix::Zero(r, c);
    sum_ = Eigen::MatrixXd::Zero(r, c);
    count_ = Eigen::MatrixXd::Zero(r, c);
    cell_of_column_.resize(static_cast<std::size_t>(c > 0 ? columns : 0));
    for (std::size_t j = 0; j < cell_of_column_.size(); ++j)
        cell_of_column_[j] = pooled_cell(static_cast<std::int64_t>(j), columns, c);
}

void Pooler::add(std::int64_t row, const float* values, std::int64_t legal) {
    if (max_.size() == 0) return;
    const std::int64_t r = pooled_cell(row, rows_, max_.rows());
    for (std::int64_t j = 0; j < std::min(legal, columns_); ++j) {
        const std::int64_t c = cell_of_column_[static_cast<std::size_t>(j)];
        max_(r, c) = std::max(max_(r, c), values[j]);
        sum_(r, c) += values[j];
        count_(r, c) += 1;
    }
}

PooledMap Pooler::result(HeadId head) const {
    PooledMap map{.head = head, .max = max_, .mean = Matrix::Zero(max_.rows(), max_.cols())};
    map.mean = (count_.array() > 0).select(sum_.array() / count_.array().max(1), 0.0).cast<float>().matrix();
    return map;
}

}  // namespace headlight::analyze
