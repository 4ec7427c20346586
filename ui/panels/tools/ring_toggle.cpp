// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/ring_toggle.h"

#include "ui/style/appearance.h"

#include <QPainter>

#include <algorithm>

namespace headlight::ui {

RingToggle::RingToggle(const QString& text, const QString& tip, QWidget* parent) : QAbstractButton(parent) {
    setText(text);
    setAccessibleName(text);
    setToolTip(tip);
    setCheckable(true);
    setFont(figure::ui_font(12));
    setFocusPolicy(Qt::TabFocus);
    setAttribute(Qt::WA_Hover);
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
}

QSize RingToggle::sizeHint() const { return {fontMetrics().horizontalAdvance(text()) + 4 + 6 + 10 + 4, 26}; }

QSize RingToggle::minimumSizeHint() const {
    return {std::min(sizeHint().width(), fontMetrics().horizontalAdvance(text().left(3)) + 40), 26};
}

void RingToggle::paintEvent(QPaintEvent*) {
    const figure::Theme& theme = Appearance::instance().theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    if (hasFocus() || underMouse()) {
        painter.setPen(hasFocus() ? QPen(theme.accent) : QPen(Qt::NoPen));
        painter.setBrush(underMouse() ? theme.chip : QColor(Qt::transparent));
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    }
    painter.setFont(font());
    painter.setPen(!isEnabled() ? theme.faint : isChecked() || underMouse() ? theme.text : theme.muted);
    const QRect room = rect().adjusted(4, 0, -18, 0);
    painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter, fontMetrics().elidedText(text(), Qt::ElideRight, room.width()));
    const QRectF ring(width() - 14.5, height() / 2.0 - 4.5, 9, 9);
    painter.setPen(QPen(isChecked() ? theme.accent : !isEnabled() ? theme.faint : theme.muted, 1.2));
    painter.setBrush(isChecked() ? theme.accent : QColor(Qt::transparent));
    painter.drawEllipse(ring);
}

}  // namespace headlight::ui
