// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/matrix/matrix_layout.h"

#include <algorithm>

namespace headlight::figure {

namespace {

constexpr double largest_cell = 44, smallest_panel = 140;

/// Room around the cells of one panel.
QSizeF around(const MatrixLayout& l) {
    return {l.row_extent + MatrixLayout::label_gap + l.sum_extent + MatrixLayout::margin,
            MatrixLayout::panel_title + l.column_extent + MatrixLayout::label_gap + l.sums_below + 12};
}

double cell_for(const MatrixLayout& l, std::int64_t across, std::int64_t down, QSizeF room) {
    const QSizeF extra = around(l);
    const double width = (room.width() / static_cast<double>(across) - extra.width()) / static_cast<double>(l.cols);
    if (room.height() <= 0) return width;
    const double height = (room.height() / static_cast<double>(down) - extra.height()) / static_cast<double>(l.rows);
    return std::min(width, height);
}

}  // namespace

MatrixLayout matrix_layout(std::int64_t rows, std::int64_t cols, std::int64_t panels, double row_extent, double column_extent,
                           QSizeF available, double legend_height, double sum_extent, double sums_below) {
    MatrixLayout l;
    l.legend_height = legend_height;
    l.sum_extent = sum_extent, l.sums_below = sums_below;
    l.rows = std::max<std::int64_t>(rows, 1), l.cols = std::max<std::int64_t>(cols, 1);
    l.row_extent = row_extent, l.column_extent = column_extent;
    const double tall = available.height() > 0 ? available.height() - MatrixLayout::header_height - l.legend_height : 0;
    const QSizeF room(available.width() - MatrixLayout::margin, tall);
    std::int64_t across = 1;
    for (std::int64_t n = 2; n <= panels; ++n) {
        const auto down = [&](std::int64_t a) { return (panels + a - 1) / a; };
        // No more beside each other than stay legible; the rest goes below and scrolls.
        if (room.width() / static_cast<double>(n) < smallest_panel + around(l).width()) break;
        if (cell_for(l, n, down(n), room) > cell_for(l, across, down(across), room) || tall <= 0) across = n;
    }
    const std::int64_t down = (panels + across - 1) / across;
    const auto longest = static_cast<double>(std::max(l.rows, l.cols));
    l.cell = std::min(std::max(cell_for(l, across, down, room), smallest_panel / longest), largest_cell);
    const QSizeF extra = around(l);
    const double width = l.cell * static_cast<double>(l.cols), height = l.cell * static_cast<double>(l.rows);
    for (std::int64_t p = 0; p < panels; ++p) {
        const double x = MatrixLayout::margin + static_cast<double>(p % across) * (width + extra.width());
        const double y = MatrixLayout::header_height + static_cast<double>(p / across) * (height + extra.height());
        l.panels.emplace_back(x + row_extent + MatrixLayout::label_gap,
                              y + MatrixLayout::panel_title + column_extent + MatrixLayout::label_gap, width, height);
    }
    l.size = QSizeF(std::max(available.width(), MatrixLayout::margin + static_cast<double>(across) * (width + extra.width())),
                    std::max(available.height(), MatrixLayout::header_height +
                                                     static_cast<double>(down) * (height + extra.height()) + l.legend_height));
    return l;
}

}  // namespace headlight::figure
