// SPDX-License-Identifier: GPL-3.0-or-later
// What a viewer sees of a figure, and what the pointer finds on it.
#pragma once

#include "headlight/figure/core/figure.h"

#include <QImage>

#include <set>

namespace headlight::figure {

/// Of a figure that is laid out, the part that is `seen`, in an image of so many pixels.
inline QImage painted_part(const Figure& figure, QSizeF pixels, const QRectF& seen, const Style& style,
                           const Selection& selection = {}, double ratio = 1) {
    QImage image(pixels.toSize(), QImage::Format_RGB32);
    image.setDevicePixelRatio(ratio);
    image.fill(style.theme->canvas);
    QPainter painter(&image);
    painter.scale(style.zoom, style.zoom);
    painter.translate(-seen.topLeft());
    figure.paint(painter, seen, style, selection);
    return image;
}

/// The whole figure, laid out for a canvas.
inline QImage painted(Figure& figure, QSizeF canvas, const Style& style = {}, const Selection& selection = {}, double ratio = 1) {
    const QSizeF size = figure.layout(canvas, style, selection);
    return painted_part(figure, size * ratio, QRectF({}, size), style, selection, ratio);
}

/// Calls visit(hit) for points of an area, `dx` and `dy` apart.
template <class Visit>
void each_hit(const Figure& figure, const QRectF& area, double dx, double dy, const Visit& visit,
              const Selection& selection = {}) {
    for (double y = area.top(); y < area.bottom(); y += dy)
        for (double x = area.left(); x < area.right(); x += dx) visit(figure.hit_test({x, y}, {}, selection));
}

/// The tips at these points.
inline std::set<QString> tips_in(const Figure& figure, const QRectF& area, double dx, double dy,
                                 const Selection& selection = {}) {
    std::set<QString> tips;
    each_hit(
        figure, area, dx, dy, [&](const Hit& hit) { tips.insert(hit.tip); }, selection);
    return tips;
}

}  // namespace headlight::figure
