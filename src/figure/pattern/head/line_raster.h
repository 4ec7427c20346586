// SPDX-License-Identifier: GPL-3.0-or-later
// Anti-aliased lines into a picture, many times faster than a general painter: a head view of a long text has 100,000.
#pragma once

#include <QColor>
#include <QImage>

#include <Eigen/Core>

#include <vector>

namespace headlight::figure {

/// Blends lines over each other in float, so that a hundred lines of opacity 1/255 add up as they should.
class LineRaster {
public:
    LineRaster(int width, int height);
    /// From (x0, y0) to (x1, y1), x0 < x1, in pixels; cut along the pixels: flat lines at x0 and x1, steep ones at y0 and y1.
    void line(double x0, double y0, double x1, double y1, double thickness, const QColor&, double opacity);
    /// Format_ARGB32_Premultiplied.
    QImage image() const;

    using Pixel = Eigen::Array4f;  ///< blue, green, red, alpha, premultiplied

private:
    int width_, height_;
    std::vector<Pixel> pixels_;
};

}  // namespace headlight::figure
