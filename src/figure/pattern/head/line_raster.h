// SPDX-License-Identifier: GPL-3.0-or-later
// Anti-aliased lines into a picture, many times faster than a general painter: a head view of a long text has 100,000.
#pragma once

#include <QColor>
#include <QImage>

#include <Eigen/Core>

#include <utility>
#include <vector>

namespace headlight::figure {

/// Blends lines over each other in float, so that a hundred lines of opacity 1/255 add up as they should.
class LineRaster {
public:
    LineRaster(int width, int height);
    /// From (x0, y0) to (x1, y1), x0 < x1, in pixels; cut vertically at both ends.
    void line(double x0, double y0, double x1, double y1, double thickness, const QColor&, double opacity);
    /// Format_ARGB32_Premultiplied.
    QImage image() const;

private:
    using Pixel = Eigen::Array4f;  ///< blue, green, red, alpha, premultiplied
    /// Lays a colour over a pixel that it covers in part. Here, so that it is a part of the loops: they call it for every pixel.
    static void blend(Pixel& p, const Pixel& color, float coverage) { p += (color - p * color[3]) * coverage; }
    const Pixel* row(int y) const { return pixels_.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width_); }
    Pixel* row(int y) { return const_cast<Pixel*>(std::as_const(*this).row(y)); }
    void steep(double x0, double y0, double x1, double y1, double half, const Pixel&);
    void flat(double x0, double y0, double x1, double y1, double half, const Pixel&);

    int width_, height_;
    std::vector<Pixel> pixels_;
};

}  // namespace headlight::figure
