// SPDX-License-Identifier: GPL-3.0-or-later
// The size of the smallest type in a file, from painting the page on nothing.
#include "figure/export/export_page.h"

#include <QPaintEngine>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::figure {
namespace {

constexpr double most_mm = 600;
constexpr int most_tries = 6;

/// Draws nothing and remembers the smallest font. As QPaintEngine::Picture it gets text as vector files do.
class TypeMeter : public QPaintEngine {
public:
    TypeMeter() : QPaintEngine(AllFeatures) {}
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    void updateState(const QPaintEngineState&) override {}
    void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
    void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override {}
    void drawPath(const QPainterPath&) override {}
    void drawLines(const QLineF*, int) override {}
    void drawRects(const QRectF*, int) override {}
    void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
    void drawTextItem(const QPointF&, const QTextItem& item) override {
        const QTransform t = painter()->combinedTransform();
        const double scale = std::sqrt(std::abs(t.m11() * t.m22() - t.m12() * t.m21()));
        smallest = std::min(smallest, QFontInfo(item.font()).pixelSize() * scale);
    }
    Type type() const override { return Picture; }

    double smallest = std::numeric_limits<double>::infinity();
};

class Nothing : public QPaintDevice {
public:
    QPaintEngine* paintEngine() const override { return &meter; }
    mutable TypeMeter meter;

protected:
    int metric(PaintDeviceMetric metric) const override {
        switch (metric) {
            case PdmWidth:
            case PdmHeight: return 100'000;
            case PdmDpiX:
            case PdmDpiY:
            case PdmPhysicalDpiX:
            case PdmPhysicalDpiY: return 96;
            case PdmDevicePixelRatioScaled: return static_cast<int>(devicePixelRatioFScale());
            default: return 1;
        }
    }
};

}  // namespace

double smallest_type(Figure& figure, const Selection& selection, const Provenance& provenance, const ExportOptions& options,
                     const CancelToken& cancel) {
    const Page page(figure, selection, provenance, options, cancel);
    Nothing nothing;
    QPainter painter(&nothing);
    page.paint(painter);
    painter.end();
    return std::isfinite(nothing.meter.smallest) ? nothing.meter.smallest * page.mm_per_px / 25.4 * 72 : 0;
}

std::optional<int> width_for_type(Figure& figure, const Selection& selection, const Provenance& provenance, ExportOptions options,
                                  double points, const CancelToken& cancel) {
    if (!options.width_mm) return std::nullopt;
    for (int i = 0; i < most_tries; ++i) {
        const double now = smallest_type(figure, selection, provenance, options, cancel);
        if (now >= points - 0.01) return static_cast<int>(*options.width_mm);
        if (now <= 0) break;
        options.width_mm = std::ceil(*options.width_mm * std::max(points / now, 1.02));
        if (*options.width_mm > most_mm) break;
    }
    return std::nullopt;
}

}  // namespace headlight::figure
