// SPDX-License-Identifier: GPL-3.0-or-later
// Where the maps of a matrix view are: a pure function of their size and of the canvas.
#pragma once

#include <QRectF>
#include <QSizeF>

#include <cstdint>
#include <vector>

namespace headlight::figure {

struct MatrixLayout {
    static constexpr double margin = 16, header_height = 48, panel_title = 24, label_gap = 6;
    static constexpr double plain_legend = 56, mark_line = 20, note_line = 15;

    double legend_height = plain_legend;  ///< higher by a line where marks are named

    std::int64_t rows = 0, cols = 0;
    double cell = 1;                           ///< figure units
    double row_extent = 0, column_extent = 0;  ///< room for labels, px on screen at any zoom
    double sum_extent = 0;                     ///< room for bars of sums to the right,
    double sums_below = 0;                     ///< and below
    std::vector<QRectF> panels;                ///< the cells of each map
    QSizeF size;
};

MatrixLayout matrix_layout(std::int64_t rows, std::int64_t cols, std::int64_t panels, double row_extent, double column_extent,
                           QSizeF available, double legend_height = MatrixLayout::plain_legend, double sum_extent = 0,
                           double sums_below = 0);

}  // namespace headlight::figure
