// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/pattern/model/model_view_figure.h"

namespace headlight::figure {

struct ModelFigure::Frame {
    QPainter& painter;
    QRectF seen;    ///< what the viewer sees
    QRectF target;  ///< the part of it that is painted now
    const Style& style;
    const Selection& selection;
    double device;          ///< device px per figure unit
    double unit;            ///< figure units per px on screen: 1 / zoom
    bool vector;            ///< SVG, PDF
    bool real_maps = true;  ///< few enough maps are in sight to show their full patterns
    int pooled_side = 0;    ///< cells a side of the maps that were drawn, for the legend
    bool pooled = false;
    double strength = 1;  ///< opacity of the cell that is painted: less outside the filter

    const Theme& theme() const { return *style.theme; }
    bool hover() const { return !style.exporting; }

    /// Paints in px with the origin at a point of the figure: text and hairlines keep their size at every zoom.
    template <class Paint>
    void at(QPointF origin, Paint paint) {
        painter.save();
        painter.translate(origin);
        painter.scale(unit, unit);
        paint();
        painter.restore();
    }
    void text(QPointF origin, const QString& text, const QFont& font, const QColor& color,
              draw::Align align = draw::Align::left) {
        at(origin, [&] { draw::text(painter, {0, 0}, text, font, color, align); });
    }
};

}  // namespace headlight::figure
