// SPDX-License-Identifier: GPL-3.0-or-later
// A map in halved sizes down to one cell, each cell the largest of the four above it: what a zoomed-out map is painted
// from.
#pragma once

#include "figure/pattern/head/head_lines.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/transfer.h"

#include <cstdint>
#include <vector>

namespace headlight::figure {

struct MipPyramid {
    /// 0: masked, nothing there; 1 … 255: strength 0 … 1.
    struct Level {
        std::int64_t rows = 0, cols = 0;
        std::vector<std::uint8_t> cells;  ///< [rows, cols]
        std::uint8_t at(std::int64_t r, std::int64_t c) const { return cells[static_cast<std::size_t>(r * cols + c)]; }
    };
    std::vector<Level> levels;  ///< 0: one cell a pair

    /// Level whose cells are at least one pixel wide, for a cell of level 0 that is `pixels` wide.
    std::size_t level_for(double pixels) const;
    std::int64_t bytes() const;
};

/// For signed numbers: 1 is `limit` below the row's middle, 128 the middle, 255 `limit` above. A larger cell is the one
/// of its four that is farthest from the middle.
MipPyramid signed_pyramid(const analyze::Matrix&, const analyze::PatternAxes&, const Mask&, const Eigen::VectorXf& middle,
                          float limit);

MipPyramid mip_pyramid(const analyze::Matrix&, const analyze::PatternAxes&, const Mask&, const Transfer&);

}  // namespace headlight::figure
