// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/matrix/mip_pyramid.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

namespace headlight::figure {

namespace {

template <class Choose>
MipPyramid::Level half_as_fine(const MipPyramid::Level& from, const Choose& choose) {
    MipPyramid::Level to{(from.rows + 1) / 2, (from.cols + 1) / 2, {}};
    to.cells.resize(static_cast<std::size_t>(to.rows * to.cols));
    for (std::int64_t r = 0; r < to.rows; ++r)
        for (std::int64_t c = 0; c < to.cols; ++c) {
            const auto r1 = std::min(2 * r + 1, from.rows - 1), c1 = std::min(2 * c + 1, from.cols - 1);
            to.cells[static_cast<std::size_t>(r * to.cols + c)] =
                choose({from.at(2 * r, 2 * c), from.at(2 * r, c1), from.at(r1, 2 * c), from.at(r1, c1)});
        }
    return to;
}

}  // namespace

std::int64_t MipPyramid::bytes() const {
    std::int64_t bytes = 0;
    for (const Level& level : levels) bytes += std::ssize(level.cells);
    return bytes;
}

std::size_t MipPyramid::level_for(double pixels) const {
    const double level = std::ceil(-std::log2(std::max(pixels, 1e-6)) - 1e-9);
    return static_cast<std::size_t>(std::clamp(level, 0.0, static_cast<double>(levels.size() - 1)));
}

MipPyramid mip_pyramid(const analyze::Matrix& map, const analyze::PatternAxes& axes, const Mask& mask, const Transfer& transfer) {
    MipPyramid out;
    MipPyramid::Level base{map.rows(), map.cols(), {}};
    base.cells.resize(static_cast<std::size_t>(map.size()));
    for (Eigen::Index i = 0; i < map.rows(); ++i) {
        const Eigen::VectorXf strength =
            apply(transfer, Eigen::VectorXf(map.row(i).unaryExpr([](float w) { return std::isfinite(w) ? w : 0.0F; })));
        for (Eigen::Index j = 0; j < map.cols(); ++j) {
            if (!is_legal(mask, axes.queries[static_cast<std::size_t>(i)], axes.keys[static_cast<std::size_t>(j)])) continue;
            if (!std::isfinite(map(i, j))) continue;
            base.cells[static_cast<std::size_t>(i * map.cols() + j)] =
                static_cast<std::uint8_t>(1.5F + std::clamp(strength[j], 0.F, 1.F) * 254);
        }
    }
    out.levels.push_back(std::move(base));
    const auto largest = [](std::initializer_list<std::uint8_t> cells) { return std::max(cells); };
    while (out.levels.back().rows > 1 || out.levels.back().cols > 1)
        out.levels.push_back(half_as_fine(out.levels.back(), largest));
    return out;
}

MipPyramid signed_pyramid(const analyze::Matrix& map, const analyze::PatternAxes& axes, const Mask& mask,
                          const Eigen::VectorXf& middle, float limit) {
    MipPyramid out;
    MipPyramid::Level base{map.rows(), map.cols(), {}};
    base.cells.resize(static_cast<std::size_t>(map.size()));
    for (Eigen::Index i = 0; i < map.rows(); ++i)
        for (Eigen::Index j = 0; j < map.cols(); ++j) {
            if (!is_legal(mask, axes.queries[static_cast<std::size_t>(i)], axes.keys[static_cast<std::size_t>(j)])) continue;
            const float t = (map(i, j) - middle[i]) / limit;
            if (!std::isfinite(t)) continue;
            base.cells[static_cast<std::size_t>(i * map.cols() + j)] =
                static_cast<std::uint8_t>(128.5F + std::clamp(t, -1.F, 1.F) * 127);
        }
    out.levels.push_back(std::move(base));
    const auto farthest = [](std::initializer_list<std::uint8_t> cells) {
        return std::ranges::max(cells, {}, [](std::uint8_t c) { return c == 0 ? -1 : std::abs(int{c} - 128); });
    };
    while (out.levels.back().rows > 1 || out.levels.back().cols > 1)
        out.levels.push_back(half_as_fine(out.levels.back(), farthest));
    return out;
}

}  // namespace headlight::figure
