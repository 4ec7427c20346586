// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/popover.h"

#include <QScreen>

#include <algorithm>

namespace headlight::ui {

Popover::Popover(QWidget* parent) : QFrame(parent, Qt::Popup | Qt::FramelessWindowHint) { setProperty("role", "popover"); }

void Popover::show_below(QWidget* button, Qt::Edge edge) {
    adjustSize();
    const QSize size = this->size();
    QPoint at = button->mapToGlobal(QPoint(edge == Qt::LeftEdge ? 0 : button->width() - size.width(), button->height() + 4));
    if (const QScreen* screen = button->screen()) {
        const QRect room = screen->availableGeometry();
        at.setX(std::clamp(at.x(), room.left(), std::max(room.left(), room.right() - size.width())));
        at.setY(std::clamp(at.y(), room.top(), std::max(room.top(), room.bottom() - size.height())));
    }
    move(at);
    show();
}

}  // namespace headlight::ui
