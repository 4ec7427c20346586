// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/own_tip.h"

#include <QToolTip>

#include <utility>

namespace headlight::ui {

void OwnTip::show(const QPoint& global, const QString& text, QWidget* of, const QRect& area) {
    text_ = text;
    if (text.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(global, text, of, area);
}

void OwnTip::forget() {
    const QString text = std::exchange(text_, {});
    if (!text.isEmpty() && QToolTip::isVisible() && QToolTip::text() == text) QToolTip::hideText();  // else it is another's
}

}  // namespace headlight::ui
