// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/placeholder.h"

namespace headlight::ui {

void Placeholder::paint(QPainter& painter, const QRect& area, const figure::Theme& theme) const {
    const QRect room = area.adjusted(32, 0, -32, -48);
    constexpr int line = 32;
    constexpr int wrapped = Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap;
    const QFont body = figure::ui_font(13);
    const int height = line + QFontMetrics(body).boundingRect(room, wrapped, text).height();
    const QRect block(room.left(), room.center().y() - height / 2, room.width(), height);
    painter.setPen(theme.muted);
    painter.setFont(figure::ui_font(15, QFont::DemiBold));
    painter.drawText(block, Qt::AlignHCenter | Qt::AlignTop, title);
    painter.setFont(body);
    painter.drawText(block.adjusted(0, line, 0, 0), wrapped, text);
}

}  // namespace headlight::ui
