// SPDX-License-Identifier: GPL-3.0-or-later
// The marks of a plot: lines, bars and dots. Painted in any thread.
#pragma once

#include "figure/plot/frame.h"
#include "figure/plot/mark_index.h"
#include "figure/plot/stamp.h"

#include <QImage>

#include <vector>

namespace headlight::figure::plot {

inline constexpr std::size_t most_vector_points = 20'000;

/// One paint call.
struct Canvas {
    QPainter& painter;
    const Style& style;
    QRectF visible;
    double scale;  ///< device pixels a px
    bool vector;
    const Theme& theme() const { return *style.theme; }
    bool keeps() const { return !style.exporting && !vector; }
    double pixel() const { return keeps() ? 1 / scale : 0; }  ///< its width, where no file has to hold all corners
};

/// What `paint` paints on a canvas of this size, as an image on screen.
template <class Paint>
QImage screen_image(QSizeF size, double scale, const Style& style, Paint paint) {
    QImage image((size * scale).toSize().expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    QPainter to(&image);
    to.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    to.scale(scale, scale);
    paint(Canvas{to, style, QRectF(QPointF(0, 0), size), scale, false});
    return image;
}

void draw_marker(QPainter&, Marker, QPointF at, double radius);

/// How many marks a plot has; where there are many, dots are smaller and fainter.
struct MarkCounts {
    std::size_t points = 0;  ///< in all series of points
    std::size_t dots = 0;    ///< of all lines
    std::size_t all = 0;
};
MarkCounts count_marks(const PlotData&);

/// Paints marks of a plot that is laid out in `frame`.
struct MarkPainter {
    const PlotData& data;
    const Frame& frame;
    QRectF room;  ///< of the panels and the legend
    MarkCounts counts;
    Stamps& stamps;

    double radius(const Series&) const;
    double strength(const Series&) const;  ///< opacity
    void paint(const Canvas&, double opacity) const;
    /// Those of the head that stands out.
    void paint_subject(const Canvas&, const std::vector<MarkId>&) const;

private:
    /// Points (null: all dots that are pixels) as one image.
    void paint_raster(const Canvas&, const std::vector<MarkId>* only) const;
    void paint_subject_lines(const Canvas&, const std::vector<MarkId>&) const;
    void paint_subject_points(const Canvas&, const std::vector<MarkId>&) const;
    /// Whether its dots are too many to be drawn one by one.
    bool as_pixels(const Canvas&, const Series&) const;
    QImage raster(const Canvas&, const std::vector<MarkId>* only, const QRectF& area) const;
    void paint_dots(const Canvas&) const;
};

}  // namespace headlight::figure::plot
