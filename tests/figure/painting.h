// SPDX-License-Identifier: GPL-3.0-or-later
// What a viewer sees of a figure, and what the pointer finds on it.
#pragma once

#include "headlight/figure/core/figure.h"

#include <QImage>
#include <QPaintEngine>

#include <set>
#include <utility>
#include <vector>

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

/// Keeps where texts stand, of figures that write text as text: a vector file of nothing else.
class TextBoxes final : public QPaintDevice {
public:
    TextBoxes(QSize size) : size_(size), engine_(*this) {}
    QPaintEngine* paintEngine() const override { return &engine_; }
    std::vector<std::pair<QString, QRectF>> boxes;

protected:
    int metric(PaintDeviceMetric of) const override {
        switch (of) {
            case PdmWidth: return size_.width();
            case PdmHeight: return size_.height();
            case PdmDpiX:
            case PdmDpiY:
            case PdmPhysicalDpiX:
            case PdmPhysicalDpiY: return 96;
            case PdmDepth: return 32;
            case PdmDevicePixelRatio: return 1;
            case PdmDevicePixelRatioScaled: return int(devicePixelRatioFScale());
            default: return 0;
        }
    }

private:
    class Engine final : public QPaintEngine {
    public:
        Engine(TextBoxes& device) : QPaintEngine(AllFeatures), device_(device) {}
        bool begin(QPaintDevice*) override { return true; }
        bool end() override { return true; }
        void updateState(const QPaintEngineState& now) override {
            if (now.state() & DirtyTransform) transform_ = now.transform();
        }
        void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
        void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
        void drawPath(const QPainterPath&) override {}
        void drawTextItem(const QPointF& at, const QTextItem& item) override {
            const QRectF box(at.x(), at.y() - item.ascent(), item.width(), item.ascent() + item.descent());
            device_.boxes.emplace_back(item.text(), transform_.mapRect(box));
        }
        Type type() const override { return SVG; }

    private:
        TextBoxes& device_;
        QTransform transform_;
    };
    QSize size_;
    mutable Engine engine_;
};

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
