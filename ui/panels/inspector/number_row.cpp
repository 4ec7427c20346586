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
    const QString copy = exact_.isEmpty() ? QString() : QStringLiteral("%1 (click to copy)").arg(exact_);
    if (definition_.isEmpty()) return setToolTip(copy);
    setToolTip(QStringLiteral("<p>%1</p><p>%2</p>").arg(typeset(definition_), copy.toHtmlEscaped()));
}

void NumberRow::set_bar(std::optional<double> share, bool from_middle) {
    share_ = share;
    from_middle_ = from_middle;
    update();
}

void NumberRow::paintEvent(QPaintEvent*) {
    const figure::Theme& theme = Appearance::instance().theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    if (underMouse() || hasFocus()) {
        painter.setPen(hasFocus() ? QPen(theme.accent) : QPen(Qt::NoPen));
        painter.setBrush(underMouse() ? theme.chip : QColor(Qt::transparent));
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 1.5, -0.5, -1.5), 3, 3);
    }
    const QRect inner = rect();
    painter.setFont(figure::ui_font(12.5));
    const int value_width = painter.fontMetrics().horizontalAdvance(shown_);
    painter.setPen(theme.text);
    painter.drawText(inner, Qt::AlignRight | Qt::AlignVCenter, shown_);
    QRectF track;
    if (share_) {
        track = wide_ ? QRectF(inner.left() + 108, inner.center().y() - 4, 78, 9)
                      : QRectF(inner.right() - 119, inner.center().y() - 4, 52, 9);
    }
    const int name_right = share_ ? int(track.left()) - 8 : inner.right() - value_width - 8;
    const QRect name_box(inner.left() + (indent_ ? 8 : 0), 0, name_right - inner.left() - (indent_ ? 8 : 0), height());
    painter.setPen(wide_ ? theme.text : theme.muted);
    painter.drawText(name_box, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(text(), Qt::ElideRight, name_box.width()));
    if (!share_) return;
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
