// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/head_row_delegate.h"

#include "ui/panels/heads/head_list_model.h"
#include "ui/style/appearance.h"

#include <QApplication>
#include <QPainter>

namespace headlight::ui {

void HeadRowDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const figure::Theme& theme = Appearance::instance().theme();
    const bool current = option.state & QStyle::State_Selected;
    const int columns = index.model()->columnCount();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (current) {  // one pill over all columns: clipped to this cell's part of it
        const int left = index.column() == 0 ? option.rect.left() : option.rect.left() - 20;
        const int right = index.column() == columns - 1 ? option.rect.right() - 8 : option.rect.right() + 20;
        painter->setClipRect(option.rect);
        painter->setPen(Qt::NoPen);
        painter->setBrush(theme.accent_soft);
        painter->drawRoundedRect(QRectF(QPoint(left, option.rect.top() + 1), QPoint(right, option.rect.bottom())), 4, 4);
    }
    painter->setFont(figure::ui_font(12.5, current && index.column() == 0 ? QFont::DemiBold : QFont::Normal));
    painter->setPen(theme.text);
    const QString text = index.data(Qt::DisplayRole).toString();
    if (index.column() == 0) {
        painter->drawText(option.rect.adjusted(0, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
    } else {
        const QRect cell = option.rect.adjusted(0, 0, index.column() == columns - 1 ? -16 : -4, 0);
        painter->drawText(cell, Qt::AlignVCenter | Qt::AlignRight, text);
        if (index.column() == 1) {
            const int room = cell.width() - 44;
            const QRectF track(cell.left(), cell.center().y() - 3.5, std::min(38, room), 8);
            painter->setPen(Qt::NoPen);
            painter->setBrush(theme.line);
            painter->drawRoundedRect(track, 2, 2);
            const double share = index.data(HeadListModel::share_role).toDouble();
            const qlonglong head = index.data(HeadListModel::head_role).toLongLong();
            painter->setBrush(figure::head_color(theme, document_.options().palette, head));
            if (index.data(HeadListModel::signed_role).toBool()) {  // from the middle
                const double length = std::max(1.5, track.width() / 2 * std::abs(share));
                painter->setBrush(share < 0 ? theme.negative : theme.positive);
                if (share != 0)
                    painter->drawRoundedRect(
                        QRectF(track.center().x() - (share < 0 ? length : 0), track.top(), length, track.height()), 2, 2);
            } else if (share > 0)
                painter->drawRoundedRect(QRectF(track.topLeft(), QSizeF(std::max(1.5, track.width() * share), track.height())), 2,
                                         2);
        }
    }
    painter->restore();
}

}  // namespace headlight::ui
