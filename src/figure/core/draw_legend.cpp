// SPDX-License-Identifier: GPL-3.0-or-later
// Legends, axes and the footer of draw.h.
#include "figure/core/draw.h"
#include "figure/core/wrapped.h"

#include <QLinearGradient>

#include <algorithm>
#include <cmath>

namespace headlight::figure::draw {
namespace {

constexpr double label_gap = 4;  ///< least room between neighbouring labels
constexpr double footer_line = 14, footer_pad = 12;

void fill_gradient(QPainter& painter, const QRectF& rect, const std::function<QColor(double)>& color) {
    QLinearGradient gradient(rect.topLeft(), rect.topRight());
    for (int i = 0; i <= 20; ++i) gradient.setColorAt(i / 20.0, color(i / 20.0));
    painter.setPen(Qt::NoPen);
    painter.setBrush(gradient);
    painter.drawRect(rect);
    painter.setBrush(Qt::NoBrush);  // or SVG repeats the gradient with every later change of state
}

std::int64_t round_stride(double wanted) {
    if (wanted <= 1) return 1;
    for (std::int64_t decade = 1;; decade *= 10)
        for (std::int64_t step : {1, 2, 3, 4, 5})
            if (static_cast<double>(step * decade) >= wanted) return step * decade;
}

double widest(const std::vector<double>& widths) { return widths.empty() ? 0 : *std::max_element(widths.begin(), widths.end()); }

QStringList footer_lines(const Provenance& provenance, double width) {
    const QFont& font = ui_font(10);
    QStringList lines;
    for (const QString& paragraph : provenance.footer().split(u'\n')) {
        QStringList part = wrapped(paragraph, font, width - 32);
        // A whole book would be no footer; the file's metadata has all of it.
        if (part.size() > 3) {
            part.resize(3);
            part.last() = elided(part.last() + QStringLiteral(" …"), font, std::max(40.0, width - 32));
        }
        lines += part;
    }
    return lines;
}

}  // namespace

std::array<QRgb, 256> ramp_table(Ramp ramp, const Theme& theme) {
    std::array<QRgb, 256> table{};
    for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = ramp_color(ramp, theme, i / 255.0).rgb();
    return table;
}

double bar(QPainter& painter, const QRectF& bar, const std::function<QColor(double)>& color, const QString& low,
           const QString& high, const Theme& theme) {
    const QFont font = ui_font(11);
    const double baseline = centred_baseline(bar.center().y(), font);
    number(painter, {bar.left() - 5, baseline}, low, font, theme.muted, Align::right);
    fill_gradient(painter, bar, color);
    number(painter, {bar.right() + 5, baseline}, high, font, theme.muted, Align::left);
    return bar.right() + 5 + number_width(high, font);
}

ScaleEnds scale_ends(const Transfer& transfer) {
    using Curve = Transfer::Curve;
    ScaleEnds ends;
    if (transfer.curve == Curve::log) ends.low = QStringLiteral("10⁻⁴");
    if (transfer.curve == Curve::per_row || transfer.curve == Curve::rank) ends.high = QStringLiteral("row’s largest");
    return ends;
}

QString amount_name(const Transfer& transfer) {
    return transfer.curve == Transfer::Curve::linear ? QStringLiteral("weight") : QStringLiteral("strength");
}

double ramp_bar(QPainter& painter, const QRectF& rect, Ramp ramp, const QString& low, const QString& high, const Theme& theme) {
    return bar(
        painter, rect, [&](double t) { return ramp_color(ramp, theme, t); }, low, high, theme);
}

double opacity_bar(QPainter& painter, const QRectF& rect, const QColor& color, const QString& low, const QString& high,
                   const Theme& theme) {
    // Blended, not transparent: gradients with alpha become images in PDF.
    return bar(
        painter, rect, [&](double t) { return blended(theme.canvas, color, t); }, low, high, theme);
}

void signed_bar(QPainter& painter, const QRectF& rect, double limit, const Theme& theme) {
    fill_gradient(painter, rect, [&](double t) { return signed_color(theme, 2 * t - 1); });
    const QFont font = ui_font(11);
    const double baseline = rect.bottom() + 4 + QFontMetricsF(font).capHeight() + 2;
    const int decimals = limit >= 10 || std::round(limit) == limit ? 0 : limit >= 1 ? 1 : 2;
    number(painter, {rect.left(), baseline}, number_text(-limit, decimals), font, theme.muted, Align::left);
    number(painter, {rect.center().x(), baseline}, QStringLiteral("0"), font, theme.muted, Align::center);
    number(painter, {rect.right(), baseline}, number_text(limit, decimals), font, theme.muted, Align::right);
}

void hatch(QPainter& painter, const QRectF& box, double step, const QColor& color) {
    painter.save();
    painter.setClipRect(box, Qt::IntersectClip);
    painter.setPen(QPen(color, 1));
    for (double x = box.left() - box.height() + step; x < box.right(); x += step)
        painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
    painter.restore();
}

// --- axes -----------------------------------------------------------------------------------------------------------

AxisFit fit_columns(const std::vector<double>& widths, double cell, double line_height, double most_extent) {
    if (widest(widths) + label_gap <= cell) return {.extent = line_height};
    AxisFit fit = fit_rows(widths, cell, line_height, most_extent);
    fit.upwards = true;
    return fit;
}

AxisFit fit_rows(const std::vector<double>& widths, double cell, double line_height, double most_extent) {
    return {.stride = round_stride(line_height / std::max(cell, 1e-9)), .extent = std::min(widest(widths), most_extent)};
}

QString left_out_text(const AxisFit& fit, std::int64_t count) {
    const std::int64_t missing = fit.left_out(count);
    if (missing <= 0) return {};
    const QString nth = fit.stride == 2   ? QStringLiteral("2nd")
                        : fit.stride == 3 ? QStringLiteral("3rd")
                                          : QStringLiteral("%1th").arg(fit.stride);
    return QStringLiteral("every %1 label shown, %2 left out").arg(nth, count_text(missing));
}

// --- footer ---------------------------------------------------------------------------------------------------------

double footer_height(const Provenance& provenance, double width) {
    return footer_pad + footer_line * static_cast<double>(footer_lines(provenance, width).size()) + 8;
}

void footer(QPainter& painter, const QRectF& rect, const Provenance& provenance, const Theme& theme) {
    const QFont font = ui_font(10);
    painter.setPen(QPen(theme.line, 0.5 * 96 / 72));
    painter.drawLine(QPointF(rect.left() + 16, rect.top() + 0.5), QPointF(rect.right() - 16, rect.top() + 0.5));
    double y = rect.top() + footer_pad + QFontMetricsF(font).capHeight();
    for (const QString& line : footer_lines(provenance, rect.width())) {
        text(painter, {rect.left() + 16, y}, line, font, theme.muted);
        y += footer_line;
    }
}

}  // namespace headlight::figure::draw
