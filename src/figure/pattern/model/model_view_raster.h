// SPDX-License-Identifier: GPL-3.0-or-later
// From weights to the pixels of a thumbnail.
#pragma once

#include "figure/pattern/head/head_lines.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/figure.h"

#include <QImage>

#include <array>
#include <vector>

namespace headlight::figure {

/// Strengths 0..1 of a map under a transfer function, row by row.
analyze::Matrix strengths(const analyze::Matrix& weights, const Transfer&);

/// Half the cells a side: the largest, or the mean of two by two. Odd edges keep their last row and column.
analyze::Matrix halved(const analyze::Matrix&, bool mean);

/// The first and the last item that a cell covers where a side is pooled to so many cells.
const analyze::AxisItem& first_item(const std::vector<analyze::AxisItem>&, std::int64_t cell, std::int64_t cells);
const analyze::AxisItem& last_item(const std::vector<analyze::AxisItem>&, std::int64_t cell, std::int64_t cells);

/// How many of the columns of each row may hold an attended pair when `axes` is pooled to rows x columns: all, or in
/// causal models and windows those whose first key the row's last query may see.
std::vector<std::int64_t> legal_columns(const analyze::PatternAxes& axes, const Mask&, std::int64_t rows, std::int64_t columns);

/// Where a row's columns begin that its window reaches: those whose last key is nearer than `window` to the row's first
/// query. Empty for window 0.
std::vector<std::int64_t> first_columns(const analyze::PatternAxes& axes, std::int64_t window, std::int64_t rows,
                                        std::int64_t columns);

/// One pixel a cell; cells from a row's legal column on, and before its first where there is one, stay transparent.
QImage map_image(const analyze::Matrix& strengths, const std::array<QRgb, 256>& ramp, const std::vector<std::int64_t>& legal,
                 const std::vector<std::int64_t>& first = {});

/// Lines from row i at the left to column j at the right, antialiased, each as opaque as its strength; what is under
/// 1/255 is left out. `width` is the line's in px.
QImage lines_image(const analyze::Matrix& strengths, QSize size, double width, const QColor&);

constexpr float least_drawn = 1.0F / 255;

}  // namespace headlight::figure
