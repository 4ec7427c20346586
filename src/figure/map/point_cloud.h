// SPDX-License-Identifier: GPL-3.0-or-later
// A crowd of points as pixels: points covering each pixel are counted, then counts are mapped to colours (Bednar et al.,
// datashader). The picture does not depend on the order of the points, nor on the number of threads: sums of whole numbers.
#pragma once

#include <QColor>
#include <QPointF>
#include <QRect>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace headlight::figure {

/// From the units of a plane (its box is -1 to 1, y upwards) to pixels: x * scale + origin.x, origin.y - y * scale.
struct CloudView {
    QPointF origin;
    double scale = 1;
    /// Points outside the box are drawn on its border. False: they keep their positions.
    bool to_border = true;
    /// 3-D: rows of the rotation; z towards the viewer. Points of a 2-D plane ignore it.
    std::array<std::array<float, 3>, 3> turn{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

    /// The position of a point, and how near it is: -1 (far) to 1. `z` is 0 in 2-D.
    QPointF place(float x, float y, float z) const;
    float depth(float x, float y, float z) const;
};

/// Points of one head, in units of its plane.
struct CloudPoints {
    std::span<const float> x, y, z;        ///< z: empty in 2-D
    std::span<const std::uint8_t> colors;  ///< [point] index into the palette; cloud_hidden: is not drawn
    std::span<const float> sizes;          ///< [point] times the radius; empty: 1
};
inline constexpr std::uint8_t cloud_hidden = 255;

struct CloudLook {
    std::span<const QRgb> palette;
    double radius = 0;      ///< px of discs; below 0.75 each point is a single pixel
    double strength = 0.5;  ///< opacity of a pixel that one point covers; n points: 1 - (1 - strength)^n
};

/// Sums of a pixel: its shares covered by points, in units of `cloud_unit`, and their colours times these.
struct alignas(16) CloudSum {  // one vector of the processor
    std::uint32_t red = 0, green = 0, blue = 0, cover = 0;
};
inline constexpr std::uint32_t cloud_unit = 16;  ///< cover of one point over a whole pixel

/// Counts the points that fall into `area` (pixels of the whole picture). `sums`: [area.height, area.width], set to zero first.
void count_points(const CloudPoints&, const CloudView&, const CloudLook&, const QRect& area, std::vector<CloudSum>& sums);

/// Counts and paints into `area` of an image (ARGB32_Premultiplied; replaces its content). Areas that do not overlap may be
/// painted from several threads. `line` is QImage::bits() with bytesPerLine().
struct CloudImage {
    std::uint8_t* bits = nullptr;
    qsizetype bytes_per_line = 0;
};
void paint_points(const CloudPoints&, const CloudView&, const CloudLook&, const QRect& area, const CloudImage&);

}  // namespace headlight::figure
