// SPDX-License-Identifier: GPL-3.0-or-later
// One paint call of a matrix view, in px on screen.
#pragma once

#include "figure/pattern/matrix/matrix_figure.h"

#include <cmath>

namespace headlight::figure {

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

}  // namespace headlight::figure
