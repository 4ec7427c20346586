// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/recording.h"

#include "figure/core/draw.h"

#include <QPaintEngine>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace headlight::figure::plot {

namespace {

class Engine : public QPaintEngine {
public:
    explicit Engine(Recording& to) : QPaintEngine(QPaintEngine::AllFeatures), to_(to) {}
    bool begin(QPaintDevice*) override { return true; }
    bool end() override { return true; }
    Type type() const override { return QPaintEngine::User; }

    void updateState(const QPaintEngineState& changed) override {
        const auto dirty = changed.state();
        if (dirty & DirtyPen) now_.pen = changed.pen();
        if (dirty & DirtyBrush) now_.brush = changed.brush();
        if (dirty & DirtyTransform) now_.transform = changed.transform();
        if (dirty & DirtyHints) now_.antialiased = changed.renderHints() & QPainter::Antialiasing;
        if (dirty & (DirtyClipEnabled | DirtyClipRegion | DirtyClipPath | DirtyTransform)) {
            now_.clip.reset();
            if (painter()->hasClipping()) now_.clip = painter()->transform().mapRect(painter()->clipBoundingRect());
        }
    }

    void drawPath(const QPainterPath& path) override {
        add([&](Command& c) { c.path = path; });
    }
    void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
        QPainterPath path;
        if (count < 1) return;
        path.moveTo(points[0]);
        for (int i = 1; i < count; ++i) path.lineTo(points[i]);
        if (mode != PolylineMode) path.closeSubpath();
        add([&](Command& c) {
            c.path = path;
            if (mode == PolylineMode) c.brush = Qt::NoBrush;
        });
    }
    void drawLines(const QLineF* lines, int count) override {
        // A tick of length 0 is no tick; some viewers would show a point.
        std::vector<QLineF> seen;
        std::copy_if(lines, lines + count, std::back_inserter(seen), [](const QLineF& l) { return !l.isNull(); });
        if (!seen.empty()) add([&](Command& c) { c.lines = std::move(seen); });
    }
    void drawRects(const QRectF* rects, int count) override {
        QPainterPath path;
        for (int i = 0; i < count; ++i) path.addRect(rects[i]);
        drawPath(path);
    }
    void drawEllipse(const QRectF& rect) override {
        QPainterPath path;
        path.addEllipse(rect);
        drawPath(path);
    }
    void drawTextItem(const QPointF& at, const QTextItem& item) override {
        add([&](Command& c) {
            c.text = item.text();
            c.baseline = at;
            c.width = item.width();
            c.font = item.font();
        });
    }
    // Plots hold no pictures.
    void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
    void drawImage(const QRectF&, const QImage&, const QRectF&, Qt::ImageConversionFlags) override {}

private:
    template <class Fill>
    void add(const Fill& fill) {
        Command command = now_;
        fill(command);
        if (command.text.isEmpty() && command.pen.style() == Qt::NoPen && command.brush.style() == Qt::NoBrush) return;
        to_.add(std::move(command));
    }

    Recording& to_;
    Command now_;
};

/// A figure's hairline is crisp when it covers whole device pixels.
QLineF snapped_line(const QLineF& line, const QPen& pen, double scale, QPointF origin) {
    const double width = std::max(1.0, std::round(pen.widthF() * scale));
    const double half = std::fmod(width, 2) == 1 ? 0.5 : 0;
    const auto snap = [&](double v, double from) {
        return (std::floor((v + from) * scale + (half > 0 ? 0 : 0.5)) + half) / scale - from;
    };
    QLineF out = line;
    if (line.x1() == line.x2()) {
        const double x = snap(line.x1(), origin.x());
        out.setP1({x, line.y1()}), out.setP2({x, line.y2()});
    } else if (line.y1() == line.y2()) {
        const double y = snap(line.y1(), origin.y());
        out.setP1({line.x1(), y}), out.setP2({line.x2(), y});
    }
    return out;
}

bool is_number(const QString& text) {
    return std::any_of(text.begin(), text.end(), [](QChar c) { return c.isDigit(); }) &&
           std::all_of(text.begin(), text.end(), [](QChar c) { return QStringLiteral("0123456789.,−+%").contains(c); });
}

}  // namespace

void Recording::replay(QPainter& painter) const {
    const bool vector = draw::is_vector(painter);
    const double scale = draw::device_scale(painter);
    painter.save();
    const QTransform base = painter.transform();
    const QTransform device = painter.deviceTransform();
    const bool upright = !vector && device.m12() == 0 && device.m21() == 0;
    const QPointF origin(device.dx() / scale, device.dy() / scale);
    QTransform current = base;
    for (const Command& c : commands_) {
        const QTransform wanted = c.transform * base;
        if (wanted != current) painter.setTransform(current = wanted);
        // The SVG writer of Qt 6.4 knows no clip; nothing reaches far out of a panel.
        const bool clips = c.clip && !vector;
        if (clips) {
            painter.save();
            painter.setTransform(base);
            painter.setClipRect(*c.clip, Qt::IntersectClip);
            painter.setTransform(wanted);
        }
        if (!c.text.isEmpty()) {
            if (is_number(c.text))
                draw::number(painter, c.baseline + QPointF(c.width / 2, 0), c.text, c.font, c.pen.color(), draw::Align::center);
            else
                draw::text(painter, c.baseline, c.text, c.font, c.pen.color());
        } else {
            painter.setPen(c.pen);
            painter.setBrush(c.brush);
            painter.setRenderHint(QPainter::Antialiasing, true);
            if (c.lines.empty()) {
                painter.drawPath(c.path);
            } else {
                const bool snaps = upright && c.transform.type() <= QTransform::TxTranslate;
                const QPointF from = origin + QPointF(c.transform.dx(), c.transform.dy());
                for (const QLineF& line : c.lines) painter.drawLine(snaps ? snapped_line(line, c.pen, scale, from) : line);
            }
        }
        if (clips) painter.restore();
    }
    painter.restore();
}

RecordingDevice::RecordingDevice(Recording& to, QSize size) : size_(size), engine_(std::make_unique<Engine>(to)) {}
RecordingDevice::~RecordingDevice() = default;

QPaintEngine* RecordingDevice::paintEngine() const { return engine_.get(); }

int RecordingDevice::metric(PaintDeviceMetric what) const {
    constexpr int dpi = 96;
    switch (what) {
        case PdmWidth: return size_.width();
        case PdmHeight: return size_.height();
        case PdmWidthMM: return size_.width() * 254 / (dpi * 10);
        case PdmHeightMM: return size_.height() * 254 / (dpi * 10);
        case PdmNumColors: return INT_MAX;
        case PdmDepth: return 32;
        case PdmDpiX:
        case PdmDpiY:
        case PdmPhysicalDpiX:
        case PdmPhysicalDpiY: return dpi;
        case PdmDevicePixelRatio: return 1;
        case PdmDevicePixelRatioScaled: return static_cast<int>(devicePixelRatioFScale());
        default: return 0;
    }
}

}  // namespace headlight::figure::plot
