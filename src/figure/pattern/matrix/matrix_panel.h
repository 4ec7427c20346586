// SPDX-License-Identifier: GPL-3.0-or-later
// One paint call of a matrix view, and one map of it as it stands on the screen; in px there.
#pragma once

#include "figure/pattern/matrix/matrix_figure.h"

#include <cmath>

namespace headlight::figure {

inline constexpr double matrix_label_size = 12;

struct MatrixFigure::Frame {
    QPainter& painter;
    const Style& style;
    const Selection& selection;
    QRectF view, visible;  ///< of the content; of that, what lies on the target
    double scale;          ///< device pixels a px
    bool vector;
    const Theme& theme() const { return *style.theme; }
    /// Device pixels of a cell; in vector files a map is a picture of at most 2,048 pixels a side.
    double cell_pixels(double cell, std::int64_t longest) const {
        return vector ? 2048.0 / static_cast<double>(longest) : cell * scale;
    }
    double snapped(double v) const { return vector ? v : std::round(v * scale) / scale; }
};

struct MatrixFigure::Panel {
    std::size_t index = 0;
    double cell = 1;  ///< px on screen
    QRectF cells;     ///< the whole map
    QRectF clip;      ///< of it, what is visible beside the labels
    QRectF row_strip,
        column_strip;  ///< labels: beside the map, or along the edge of the view when that is scrolled away
    QRectF title;
    QRectF row_sums, column_sums;  ///< bars, right of and below the visible part; empty without
    std::int64_t row_begin = 0, row_end = 0, col_begin = 0, col_end = 0;  ///< cells that `clip` meets

    QRectF cell_rect(std::int64_t row, std::int64_t col) const {
        return {cells.left() + static_cast<double>(col) * cell, cells.top() + static_cast<double>(row) * cell, cell, cell};
    }
    std::int64_t row_at(double y, std::int64_t rows) const { return index_at(y - cells.top(), rows); }
    std::int64_t col_at(double x, std::int64_t cols) const { return index_at(x - cells.left(), cols); }

private:
    std::int64_t index_at(double offset, std::int64_t count) const {
        const double i = std::floor(offset / cell);
        return i >= 0 && i < static_cast<double>(count) ? static_cast<std::int64_t>(i) : -1;
    }
};

}  // namespace headlight::figure
