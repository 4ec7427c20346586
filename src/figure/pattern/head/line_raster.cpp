// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/head/line_raster.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

LineRaster::LineRaster(int width, int height)
    : width_(width),
      height_(height),
      pixels_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), Pixel::Zero()) {}

void LineRaster::line(double x0, double y0, double x1, double y1, double thickness, const QColor& color, double opacity) {
    const auto a = static_cast<float>(opacity);
    const Pixel premultiplied(static_cast<float>(color.blueF()) * a, static_cast<float>(color.greenF()) * a,
                              static_cast<float>(color.redF()) * a, a);
    const double dx = x1 - x0, dy = y1 - y0;
    const double length = std::hypot(dx, dy);
    if (std::abs(dy) > dx)
        steep(x0, y0, x1, y1, thickness / 2 * length / std::abs(dy), premultiplied);
    else if (dx > 0)
        flat(x0, y0, x1, y1, thickness / 2 * length / dx, premultiplied);
}

namespace {

int whole(double v) {  // floor, without the call that plain x86-64 makes of it
    const int i = static_cast<int>(v);
    return i - (v < i ? 1 : 0);
}

}  // namespace

// A row of pixels meets a steep line in an interval of x: each pixel is covered by its share of that interval.
void LineRaster::steep(double x0, double y0, double x1, double y1, double half, const Pixel& color) {
    if (y0 > y1) std::swap(x0, x1), std::swap(y0, y1);
    const double slope = (x1 - x0) / (y1 - y0);
    const int first = whole(std::max(0.0, y0)), last = whole(std::min(height_ - 1.0, y1));
    for (int y = first; y <= last; ++y) {
        const double in_row = std::min(y1, y + 1.0) - std::max(y0, static_cast<double>(y));
        const double middle = x0 + (y + 0.5 - y0) * slope;
        const double left = std::max(0.0, middle - half), right = std::min<double>(width_, middle + half);
        if (left >= right) continue;
        const int from = whole(left), to = std::min(width_ - 1, whole(right));
        Pixel* const pixels = row(y);
        if (from == to) {
            blend(pixels[from], color, static_cast<float>((right - left) * in_row));
            continue;
        }
        blend(pixels[from], color, static_cast<float>((from + 1 - left) * in_row));
        for (int x = from + 1; x < to; ++x) blend(pixels[x], color, static_cast<float>(in_row));
        blend(pixels[to], color, static_cast<float>((right - to) * in_row));
    }
}

// The same with columns.
void LineRaster::flat(double x0, double y0, double x1, double y1, double half, const Pixel& color) {
    const double slope = (y1 - y0) / (x1 - x0);
    double enter = std::max(0.0, x0), leave = std::min(width_ - 1.0, x1);
    if (slope != 0) {  // only the columns where the line is inside the picture
        const double a = x0 + (-half - 1 - y0) / slope, b = x0 + (height_ + half + 1 - y0) / slope;
        enter = std::max(enter, std::min(a, b));
        leave = std::min(leave, std::max(a, b));
    }
    if (enter > leave) return;
    for (int x = whole(enter); x <= whole(leave); ++x) {
        const double in_column = std::min(x1, x + 1.0) - std::max(x0, static_cast<double>(x));
        const double middle = y0 + (x + 0.5 - x0) * slope;
        const double top = std::max(0.0, middle - half), bottom = std::min<double>(height_, middle + half);
        if (top >= bottom) continue;
        const int from = whole(top), to = std::min(height_ - 1, whole(bottom));
        for (int y = from; y <= to; ++y) {
            const double covered = std::min(bottom, y + 1.0) - std::max(top, static_cast<double>(y));
            blend(row(y)[x], color, static_cast<float>(covered * in_column));
        }
    }
}

QImage LineRaster::image() const {
    QImage out(width_, height_, QImage::Format_ARGB32_Premultiplied);
    for (int y = 0; y < height_; ++y) {
        auto* to = reinterpret_cast<QRgb*>(out.scanLine(y));
        const Pixel* from = row(y);
        for (int x = 0; x < width_; ++x) {
            const float alpha = from[x][3];
            if (alpha == 0) {
                to[x] = 0;
                continue;
            }
            // No colour may be above its alpha.
            const Eigen::Array4i c = (from[x].min(std::min(alpha, 1.0F)) * 255 + 0.5F).cast<int>();
            to[x] = qRgba(c[2], c[1], c[0], c[3]);
        }
    }
    return out;
}

}  // namespace headlight::figure
