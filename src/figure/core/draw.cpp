// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/draw.h"

#include <QGlyphRun>
#include <QImage>
#include <QLocale>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QRawFont>

#include <algorithm>
#include <cmath>

namespace headlight::figure::draw {

bool is_vector(const QPainter& painter) {
    const QPaintEngine* engine = painter.paintEngine();
    if (!engine) return false;
    const auto type = engine->type();
    return type == QPaintEngine::SVG || type == QPaintEngine::Pdf || type == QPaintEngine::Picture;
}

double device_scale(const QPainter& painter) {
    const QTransform t = painter.deviceTransform();
    return std::sqrt(std::abs(t.m11() * t.m22() - t.m12() * t.m21()));
}

QRectF on_target(const QPainter& painter, const QRectF& exposed) {
    const QPaintDevice* device = painter.device();
    if (!device || is_vector(painter)) return exposed;
    // A widget paints into its window's buffer: its own size says nothing about where that buffer ends.
    if (device->devType() == QInternal::Widget) return exposed;
    const double ratio = device->devicePixelRatioF();
    const QRectF pixels(0, 0, device->width() * ratio, device->height() * ratio);
    return exposed & painter.deviceTransform().inverted().mapRect(pixels);
}

void device_image(QPainter& painter, QPointF top_left, const QImage& image) {
    const QPointF corner = painter.deviceTransform().map(top_left);
    const QPointF snapped(std::round(corner.x()), std::round(corner.y()));
    const double ratio = painter.device()->devicePixelRatioF();
    painter.save();
    painter.setWorldTransform(QTransform::fromScale(1 / ratio, 1 / ratio));
    painter.drawImage(painter.deviceTransform().inverted().map(snapped), image);
    painter.restore();
}

QPen hairline(const QColor& color, const Style& style) {
    return QPen(color, style.exporting ? 0.5 * 96 / 72 : 1, Qt::SolidLine, Qt::FlatCap);
}

void box(QPainter& painter, const QRectF& rect, double radius, const QColor& fill, const QColor& stroke, double stroke_width) {
    painter.setPen(stroke.isValid() ? QPen(stroke, stroke_width) : QPen(Qt::NoPen));
    painter.setBrush(fill.isValid() ? QBrush(fill) : QBrush(Qt::NoBrush));
    if (radius > 0)
        painter.drawRoundedRect(rect, radius, radius);
    else
        painter.drawRect(rect);
}

QColor faded(QColor color, double opacity) {
    color.setAlphaF(static_cast<float>(std::clamp(opacity, 0.0, 1.0)));
    return color;
}

QColor blended(const QColor& under, const QColor& over, double opacity) {
    auto channel = [opacity](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * opacity)); };
    return QColor(channel(under.red(), over.red()), channel(under.green(), over.green()), channel(under.blue(), over.blue()));
}

// --- text -----------------------------------------------------------------------------------------------------------

double text_width(const QString& string, const QFont& font) { return QFontMetricsF(font).horizontalAdvance(string); }

void text(QPainter& painter, QPointF baseline, const QString& string, const QFont& font, const QColor& color, Align align) {
    if (string.isEmpty()) return;
    if (align != Align::left) baseline.rx() -= text_width(string, font) * (align == Align::right ? 1 : 0.5);
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(baseline, string);
}

QString elided(const QString& string, const QFont& font, double width) {
    const QFontMetricsF metrics(font);
    return metrics.horizontalAdvance(string) <= width + 0.01 ? string : metrics.elidedText(string, Qt::ElideRight, width);
}

double centred_baseline(double y, const QFont& font) { return y + QFontMetricsF(font).capHeight() / 2; }

QString weight_text(double weight) {
    if (std::isnan(weight)) return {};
    if (weight > 0 && weight < 0.0005) return QStringLiteral("<0.001");
    return QString::number(weight, 'f', 3);
}

namespace {

/// Advance of one character of a number: digits share the widest digit's.
struct NumberMetrics {
    explicit NumberMetrics(const QFont& font) : metrics(font) {
        for (char16_t c = u'0'; c <= u'9'; ++c) digit = std::max(digit, metrics.horizontalAdvance(QChar(c)));
    }
    double advance(QChar c) const {
        // A minus takes a digit's room, so that signed columns line up as well.
        if (c.isDigit() || c == u'−' || c == u'+') return digit;
        return metrics.horizontalAdvance(c);
    }
    double width(const QString& s) const {
        double sum = 0;
        for (QChar c : s) sum += advance(c);
        return sum;
    }
    QFontMetricsF metrics;
    double digit = 0;
};

const NumberMetrics& metrics_of(const QFont& font) {
    // A figure uses two or three number fonts; the last few are kept.
    thread_local std::vector<std::pair<QFont, NumberMetrics>> known;
    for (const auto& entry : known)
        if (entry.first == font) return entry.second;
    if (known.size() > 16) known.clear();
    known.emplace_back(font, NumberMetrics(font));
    return known.back().second;
}

/// One glyph run for the whole number; false when the font lacks a glyph (then each character is drawn by itself).
bool draw_glyphs(QPainter& painter, QPointF baseline, const QString& string, const QFont& font,
                 const std::vector<double>& offsets) {
    const QRawFont raw = QRawFont::fromFont(font);
    if (!raw.isValid()) return false;
    const QList<quint32> glyphs = raw.glyphIndexesForString(string);
    if (glyphs.size() != string.size() || glyphs.contains(0)) return false;
    QList<QPointF> places;
    for (double x : offsets) places << QPointF(x, 0);
    QGlyphRun run;
    run.setRawFont(raw);
    run.setGlyphIndexes(glyphs);
    run.setPositions(places);
    painter.drawGlyphRun(baseline, run);
    return true;
}

}  // namespace

double number_width(const QString& string, const QFont& font) { return metrics_of(font).width(string); }

void number(QPainter& painter, QPointF baseline, const QString& string, const QFont& font, const QColor& color, Align align) {
    if (string.isEmpty()) return;
    const NumberMetrics& metrics = metrics_of(font);
    const double width = metrics.width(string);
    if (align != Align::left) baseline.rx() -= width * (align == Align::right ? 1 : 0.5);
    std::vector<double> offsets;
    double x = 0;
    for (QChar c : string) {
        const double cell = metrics.advance(c);
        offsets.push_back(x + (cell - metrics.metrics.horizontalAdvance(c)) / 2);
        x += cell;
    }
    painter.setFont(font);
    painter.setPen(color);
    // SVG keeps text as text only character by character; export.cpp joins these into one element with an x list.
    const bool svg = painter.paintEngine() && painter.paintEngine()->type() == QPaintEngine::SVG;
    if (!svg && draw_glyphs(painter, baseline, string, font, offsets)) return;
    for (qsizetype i = 0; i < string.size(); ++i)
        painter.drawText(baseline + QPointF(offsets[static_cast<std::size_t>(i)], 0), QString(string[i]));
}

// --- tokens ---------------------------------------------------------------------------------------------------------

QString Label::with_position(Position position) const {
    if (position.value < 0) return continuation + text;  // of a text that positions are not counted in
    return QStringLiteral("%1%2 (%3)").arg(continuation, text, QString::number(position.value));
}

Label label_of(const analyze::AxisItem& item) {
    return {QString::fromStdString(item.continuation), QString::fromStdString(item.label), item.special};
}

Label label_of(const text::TokenLabel& label) {
    return {QString::fromStdString(label.continuation), QString::fromStdString(label.text), label.special};
}

Label label_of(const std::vector<text::TokenLabel>& labels, Position at) {
    return label_of(labels[static_cast<std::size_t>(at.value)]);
}

double token_width(const Label& label, const QFont& font) {
    return text_width(label.continuation, font) + text_width(label.text, font);
}

namespace {

void token_at(QPainter& painter, QPointF baseline, const Label& label, const QString& shown, const QFont& font,
              const Theme& theme, const QColor& color) {
    const double lead = text_width(label.continuation, font);
    text(painter, baseline, label.continuation, font, color.isValid() ? faded(color, 0.7) : theme.muted);
    text(painter, baseline + QPointF(lead, 0), shown, font, color.isValid() ? color : label.special ? theme.muted : theme.text);
}

}  // namespace

void token(QPainter& painter, const QRectF& box, const Label& label, const QFont& font, const Theme& theme, Align align,
           const QColor& color) {
    const double lead = text_width(label.continuation, font);
    const QString shown = elided(label.text, font, std::max(0.0, box.width() - lead));
    const double width = lead + text_width(shown, font);
    double x = box.left();
    if (align == Align::right) x = box.right() - width;
    if (align == Align::center) x = box.center().x() - width / 2;
    token_at(painter, {x, centred_baseline(box.center().y(), font)}, label, shown, font, theme, color);
}

void token_upwards(QPainter& painter, const QRectF& box, const Label& label, const QFont& font, const Theme& theme,
                   const QColor& color) {
    const double lead = text_width(label.continuation, font);
    const QString shown = elided(label.text, font, std::max(0.0, box.height() - lead));
    painter.save();
    painter.translate(box.center().x(), box.bottom());
    painter.rotate(-90);
    token_at(painter, {0, centred_baseline(0, font)}, label, shown, font, theme, color);
    painter.restore();
}

}  // namespace headlight::figure::draw
