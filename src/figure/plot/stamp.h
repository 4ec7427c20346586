// SPDX-License-Identifier: GPL-3.0-or-later
// Points as pixels: a hundred thousand of them in a few milliseconds.
#pragma once

#include "figure/plot/plot_data.h"

#include <QImage>
#include <QPainterPath>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace headlight::figure::plot {

/// Outline of a marker around (0, 0).
QPainterPath marker_path(Marker, double radius);

/// Puts antialiased markers into an image, a quarter of a pixel exact. Masks are kept for the next one.
class Stamps {
public:
    /// `at` and `radius` in pixels of the image, which is ARGB32_Premultiplied.
    void stamp(QImage&, Marker, double radius, QPointF at, const QColor&);

private:
    struct Mask {
        int left = 0, top = 0, width = 0, height = 0;  ///< relative to the pixel of the middle
        std::vector<std::uint8_t> alpha;               ///< [height, width]
    };
    using Key = std::array<int, 4>;  ///< marker, radius in 1/16 px, quarter of x, quarter of y
    const Mask& mask(const Key&);
    std::map<Key, Mask> masks_;
    std::array<int, 2> like_{-1, 0};      ///< marker and radius of the last one
    std::array<const Mask*, 16> near_{};  ///< masks of these, by quarters of x and y
};

}  // namespace headlight::figure::plot
