// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/draw.h"
#include "figure/core/shaped_text.h"

#include <QImage>
#include <QPaintDevice>
#include <QPaintEngine>

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

double text_width(const QString& string, const QFont& font) { return string.isEmpty() ? 0 : shaped_width(string, font); }

void text(QPainter& painter, QPointF baseline, const QString& string, const QFont& font, const QColor& color, Align align) {
    if (string.isEmpty()) return;
    if (align != Align::left) baseline.rx() -= text_width(string, font) * (align == Align::right ? 1 : 0.5);
    painter.setFont(font);
    painter.setPen(color);
    if (is_vector(painter)) return painter.drawText(baseline, string);  // text stays text
    for (const QGlyphRun& run : shaped(string, font)) painter.drawGlyphRun(baseline, run);
}

QString elided(const QString& string, const QFont& font, double width) {
    return text_width(string, font) <= width + 0.01 ? string : shaped_to_fit(string, font, width);
}

double centred_baseline(double y, const QFont& font) { return y + QFontMetricsF(font).capHeight() / 2; }

QString weight_text(double weight) {
    if (std::isnan(weight)) return {};
    if (weight > 0 && weight < 0.0005) return QStringLiteral("<0.001");
    return QString::number(weight, 'f', 3);
}

double number_width(const QString& string, const QFont& font) { return string.isEmpty() ? 0 : shaped_number(string, font).width; }

void number(QPainter& painter, QPointF baseline, const QString& string, const QFont& font, const QColor& color, Align align) {
    if (string.isEmpty()) return;
    const ShapedNumber& glyphs = shaped_number(string, font);
    if (align != Align::left) baseline.rx() -= glyphs.width * (align == Align::right ? 1 : 0.5);
    painter.setFont(font);
    painter.setPen(color);
    // SVG keeps text as text only character by character; export.cpp joins these into one element with an x list.
    const bool svg = painter.paintEngine() && painter.paintEngine()->type() == QPaintEngine::SVG;
    if (!svg && glyphs.run) return painter.drawGlyphRun(baseline, *glyphs.run);
    for (qsizetype i = 0; i < string.size(); ++i) painter.drawText(baseline + QPointF(glyphs.offsets[i], 0), QString(string[i]));
}

// --- tokens ---------------------------------------------------------------------------------------------------------

QString Label::with_position(Position at) const {
    if (at.value < 0) return continuation + text;  // of a text that positions are not counted in
    return QStringLiteral("%1%2 (%3)").arg(continuation, text, QString::number(at.value));
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

const QFont& position_font(const QFont& token) { return ui_font(std::max(9, token.pixelSize() - 3)); }

namespace {

constexpr double kPositionGap = 8;

double position_width(int digits, const QFont& font) {
    return digits == 0 ? 0 : kPositionGap + number_width(QString(digits, u'0'), position_font(font));
}

/// Of a position in a text of `count` labels that ends with the position `last`; 0: short.
int digits_in(std::ptrdiff_t count, Position last) {
    return count < long_text ? 0 : static_cast<int>(QString::number(last.value).size());
}

int digits_in(const std::vector<analyze::AxisItem>& items) {
    return items.empty() ? 0 : digits_in(std::ssize(items), items.back().first);
}

}  // namespace

Label label_in(const std::vector<analyze::AxisItem>& items, std::size_t index) {
    Label label = label_of(items[index]);
    label.position = items[index].first.value;
    label.digits = digits_in(items);
    return label;
}

Label label_in(const std::vector<text::TokenLabel>& labels, Position at) {
    Label label = label_of(labels, at);
    label.position = at.value;
    label.digits = digits_in(std::ssize(labels), Position(std::ssize(labels) - 1));
    return label;
}

std::vector<Label> labels_in(const std::vector<analyze::AxisItem>& items) {
    std::vector<Label> labels;
    labels.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) labels.push_back(label_in(items, i));
    return labels;
}

double positions_width(const std::vector<analyze::AxisItem>& items, const QFont& font) {
    return position_width(digits_in(items), font);
}

void position_number(QPainter& painter, QPointF right_baseline, std::int64_t position, const QFont& token, const QColor& color) {
    number(painter, right_baseline, QString::number(position), position_font(token), color);
}

double token_width(const Label& label, const QFont& font) {
    return text_width(label.continuation, font) + text_width(label.text, font) + position_width(label.digits, font);
}

namespace {

/// A token on a line of `room` px from x on, with its position at the other end where there is room for both.
void token_along(QPainter& painter, double x, double baseline, double room, const Label& label, const QFont& font,
                 const Theme& theme, Align align, const QColor& color) {
    const double lead = text_width(label.continuation, font);
    const double beside = position_width(label.digits, font);
    const bool numbered = label.digits > 0 && token_width(label, font) <= room + 0.01;
    const QString shown = elided(label.text, font, std::max(0.0, room - lead));
    const double width = lead + text_width(shown, font), taken = width + (numbered ? beside : 0);
    double at = x, number_at = x + room;
    if (align == Align::right) {
        at = x + room - width;
        number_at = x + beside - kPositionGap;
    } else if (align == Align::center) {
        at = x + (room - taken) / 2;
        number_at = at + taken;
    }
    text(painter, {at, baseline}, label.continuation, font, color.isValid() ? faded(color, 0.7) : theme.muted);
    text(painter, {at + lead, baseline}, shown, font, color.isValid() ? color : label.special ? theme.muted : theme.text);
    if (numbered)
        position_number(painter, {number_at, baseline}, label.position, font, color.isValid() ? faded(color, 0.7) : theme.muted);
}

}  // namespace

void token(QPainter& painter, const QRectF& box, const Label& label, const QFont& font, const Theme& theme, Align align,
           const QColor& color) {
    token_along(painter, box.left(), centred_baseline(box.center().y(), font), box.width(), label, font, theme, align, color);
}

void token_upwards(QPainter& painter, const QRectF& box, const Label& label, const QFont& font, const Theme& theme,
                   const QColor& color) {
    painter.save();
    painter.translate(box.center().x(), box.bottom());
    painter.rotate(-90);
    token_along(painter, 0, centred_baseline(0, font), box.height(), label, font, theme, Align::left, color);
    painter.restore();
}

}  // namespace headlight::figure::draw
