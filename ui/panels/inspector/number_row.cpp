// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/inspector/number_row.h"

#include "headlight/base/numbers.h"
#include "headlight/figure/core/number_text.h"
#include "ui/style/appearance.h"
#include "ui/style/typeset.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace headlight::ui {

QString number_text(double value) {
    if (value != 0 && std::abs(value) < 1e-4) return figure::number_text(value, 3);  // powers of ten as in figures
    return QString::fromStdString(significant(value)).replace('-', QChar(0x2212));
}

QString aligned_text(double value, int digits) {
    if (std::isnan(value) || (value != 0 && std::abs(value) < std::pow(10.0, 1 - digits))) return number_text(value);
    return QString::number(value, 'f', digits).replace('-', QChar(0x2212));
}

QString signed_aligned_text(double value) { return (value > 0 ? QStringLiteral("+") : QString()) + aligned_text(value); }

QString exact_text(double value) { return QString::number(value, 'g', 9); }

NumberRow::NumberRow(const QString& name, QWidget* parent) : QAbstractButton(parent) {
    setText(name);
    setFocusPolicy(Qt::TabFocus);
    setFixedHeight(24);
    setAttribute(Qt::WA_Hover);
    connect(this, &QAbstractButton::clicked, this, [this] {
        if (!exact_.isEmpty()) QGuiApplication::clipboard()->setText(exact_);
    });
}

void NumberRow::set_value(const QString& shown, const QString& exact) {
    shown_ = shown;
    exact_ = exact;
    setAccessibleName(text() + QStringLiteral(" ") + exact);
    show_tip();
    update();
}

void NumberRow::set_definition(const QString& text) {
    definition_ = text;
    show_tip();
}

void NumberRow::show_tip() {
    if (exact_.isEmpty() && definition_.isEmpty()) return setToolTip({});
    QString numbers = exact_;
    if (!columns_.isEmpty()) numbers = text() + QStringLiteral(": ") + numbers.replace(u'\t', QStringLiteral("   "));
    const QString copy = exact_.isEmpty() ? QString() : QStringLiteral("%1 (click to copy)").arg(numbers);
    if (definition_.isEmpty()) return setToolTip(copy);
    setToolTip(QStringLiteral("<p>%1</p><p>%2</p>").arg(typeset(definition_), copy.toHtmlEscaped()));
}

void NumberRow::set_bar(std::optional<double> share, bool from_middle) {
    share_ = share;
    from_middle_ = from_middle;
    update();
}

void NumberRow::set_columns(const QStringList& shown, const QStringList& exact) {
    columns_ = shown;
    set_value(shown.join(QStringLiteral("   ")), exact.join(QLatin1Char('\t')));
}

void NumberRow::set_column_widths(const std::vector<int>& widths) {
    widths_ = widths;
    update();
}

void NumberRow::set_heading() {
    heading_ = true;
    setAccessibleName(columns_.join(QStringLiteral(", ")));
    setFixedHeight(20);
    setEnabled(false);
}

namespace {
constexpr int column_gap = 8;
const QFont& font_of(bool heading) { return figure::ui_font(heading ? 11.5 : 12.5); }
}  // namespace

std::vector<int> NumberRow::needed_widths() const {
    const QFontMetrics metrics(font_of(heading_));
    std::vector<int> widths;
    for (const QString& text : columns_) widths.push_back(metrics.horizontalAdvance(text) + column_gap);
    return widths;
}

void NumberRow::paint_columns(QPainter& painter, const QRect& inner) const {
    const figure::Theme& theme = Appearance::instance().theme();
    int right = inner.right();
    painter.setPen(heading_ ? theme.muted : theme.text);
    for (qsizetype i = columns_.size() - 1; i >= 0; --i) {
        const int width = std::size_t(i) < widths_.size() ? widths_[std::size_t(i)] : needed_widths()[std::size_t(i)];
        painter.drawText(QRect(right - width, inner.top(), width, inner.height()), Qt::AlignRight | Qt::AlignVCenter,
                         columns_[i]);
        right -= width;
    }
    const int left = inner.left() + (indent_ ? 8 : 0);
    const QRect name(left, inner.top(), right - left - column_gap, inner.height());
    painter.setPen(theme.muted);
    painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(text(), Qt::ElideRight, name.width()));
}

/// Empty where it would touch the number, or leave no room for the name.
QRectF NumberRow::bar_track(int value_width) const {
    constexpr int gap = 8, least_for_bars = 248, least_wide = 20, names = 108;
    const double middle = rect().center().y() - 4;
    if (wide_) {
        const int right = std::min(names + 78, width() - value_width - gap);
        return right - names < least_wide ? QRectF() : QRectF(names, middle, right - names, 9);
    }
    const int left = width() - 120;
    return width() < least_for_bars || left + 52 + gap > width() - value_width ? QRectF() : QRectF(left, middle, 52, 9);
}

void NumberRow::paintEvent(QPaintEvent*) {
    const figure::Theme& theme = Appearance::instance().theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    if (!heading_ && (underMouse() || hasFocus())) {
        painter.setPen(hasFocus() ? QPen(theme.accent) : QPen(Qt::NoPen));
        painter.setBrush(underMouse() ? theme.chip : QColor(Qt::transparent));
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 1.5, -0.5, -1.5), 3, 3);
    }
    const QRect inner = rect();
    painter.setFont(font_of(heading_));
    if (!columns_.isEmpty()) return paint_columns(painter, inner);
    const int value_width = painter.fontMetrics().horizontalAdvance(shown_);
    painter.setPen(theme.text);
    painter.drawText(inner, Qt::AlignRight | Qt::AlignVCenter, shown_);
    const QRectF track = share_ ? bar_track(value_width) : QRectF();
    const int name_right = track.isEmpty() ? inner.right() - value_width - 8 : int(track.left()) - 8;
    const QRect name_box(inner.left() + (indent_ ? 8 : 0), 0, name_right - inner.left() - (indent_ ? 8 : 0), height());
    painter.setPen(wide_ ? theme.text : theme.muted);
    painter.drawText(name_box, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(text(), Qt::ElideRight, name_box.width()));
    if (track.isEmpty()) return;
    painter.setPen(Qt::NoPen);
    if (!wide_) {
        painter.setBrush(theme.line);
        painter.drawRoundedRect(track, 2, 2);
    }
    const double share = std::clamp(*share_, -1.0, 1.0);
    const double length = std::max(1.2, std::abs(share) * track.width() * (from_middle_ ? 0.5 : 1));
    const double start = from_middle_ ? track.center().x() - (share < 0 ? length : 0) : track.left();
    painter.setBrush(bar_color_.isValid() ? bar_color_ : share < 0 ? theme.negative : theme.positive);
    painter.drawRoundedRect(QRectF(start, track.top(), length, track.height()), 2, 2);
}

}  // namespace headlight::ui
