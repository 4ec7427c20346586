// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/head/line_raster.h"

#include "headlight/base/lanes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace headlight::figure {
namespace {

/// Premultiplied pixels, four numbers in [0, 1] of which alpha is the last, as bytes; four pixels at a time.
HEADLIGHT_WIDE void to_bytes(const float* numbers, std::size_t pixels, unsigned char* out) {
    using Bytes [[gnu::vector_size(lanes::kLanes)]] = unsigned char;
    const auto four = [&](const float* from, unsigned char* to) __attribute__((always_inline)) {
        lanes::Floats all;
        std::memcpy(&all, from, sizeof all);
        const lanes::Floats alpha = __builtin_shufflevector(all, all, 3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15);
        const lanes::Floats most = alpha < 1.0F ? alpha : lanes::Floats{} + 1.0F;
        const lanes::Floats capped = all < most ? all : most;  // no colour may be above its alpha
        const Bytes bytes = __builtin_convertvector(__builtin_convertvector(capped * 255.0F + 0.5F, lanes::Ints), Bytes);
        std::memcpy(to, &bytes, sizeof bytes);
    };
    const std::size_t whole = pixels / 4 * 4, rest = pixels - whole;
    for (std::size_t i = 0; i < 4 * whole; i += lanes::kLanes) four(numbers + i, out + i);
    if (rest == 0) return;
    float last[lanes::kLanes] = {};
    unsigned char bytes[lanes::kLanes];
    std::memcpy(last, numbers + 4 * whole, 4 * rest * sizeof(float));
    four(last, bytes);
    std::memcpy(out + 4 * whole, bytes, 4 * rest);
}

struct End {
    double along, beside;
};
/// Pixels of the picture, and how far each is from the one before it.
struct Axis {
    int pixels;
    std::ptrdiff_t step;
};

/// Lays a colour over a pixel that it covers in part.
[[gnu::always_inline]] inline void blend(LineRaster::Pixel& p, const LineRaster::Pixel& color, float coverage) {
    p += (color - p * color[3]) * coverage;
}

// Each row of pixels that a steep line crosses meets it in an interval: a pixel is covered by its share of that. Columns and
// flat lines likewise.
HEADLIGHT_WIDE void draw_line(LineRaster::Pixel* pixels, End from, End to, double half, const LineRaster::Pixel& premultiplied,
                              const Axis& along, const Axis& beside) {
    if (from.along > to.along) std::swap(from, to);
    const double slope = (to.beside - from.beside) / (to.along - from.along);
    double enter = std::max(0.0, from.along), leave = std::min(along.pixels - 1.0, to.along);
    if (slope != 0) {  // only where the line is inside the picture
        const double a = from.along + (-half - 1 - from.beside) / slope,
                     b = from.along + (beside.pixels + half + 1 - from.beside) / slope;
        enter = std::max(enter, std::min(a, b));
        leave = std::min(leave, std::max(a, b));
    }
    if (enter > leave) return;
    // By value: a compiler must assume that writing a pixel changes what is referred to.
    const LineRaster::Pixel color = premultiplied;
    const std::ptrdiff_t step = beside.step;
    const double limit = beside.pixels;
    const int last_beside = beside.pixels - 1, last = static_cast<int>(leave);
    LineRaster::Pixel* line = pixels + static_cast<std::ptrdiff_t>(enter) * along.step;
    for (int at = static_cast<int>(enter); at <= last; ++at, line += along.step) {
        const double crossed = std::min(to.along, at + 1.0) - std::max(from.along, static_cast<double>(at));
        const double middle = from.beside + (at + 0.5 - from.along) * slope;
        const double low = std::max(0.0, middle - half), high = std::min(limit, middle + half);
        if (low >= high) continue;
        const int first = static_cast<int>(low), end = std::min(last_beside, static_cast<int>(high));
        LineRaster::Pixel* pixel = line + first * step;
        if (first == end) {
            blend(*pixel, color, static_cast<float>((high - low) * crossed));
            continue;
        }
        blend(*pixel, color, static_cast<float>((first + 1 - low) * crossed));
        const auto whole = static_cast<float>(crossed);
        for (int i = first + 1; i < end; ++i) blend(*(pixel += step), color, whole);
        blend(*(pixel + step), color, static_cast<float>((high - end) * crossed));
    }
}

}  // namespace

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
    const Axis across{width_, 1}, down{height_, width_};
    if (std::abs(dy) > dx)
        draw_line(pixels_.data(), {y0, x0}, {y1, x1}, thickness / 2 * length / std::abs(dy), premultiplied, down, across);
    else if (dx > 0)
        draw_line(pixels_.data(), {x0, y0}, {x1, y1}, thickness / 2 * length / dx, premultiplied, across, down);
}

QImage LineRaster::image() const {
    QImage out(width_, height_, QImage::Format_ARGB32_Premultiplied);  // without gaps between rows
    to_bytes(pixels_.front().data(), pixels_.size(), out.bits());
    return out;
}

}  // namespace headlight::figure
