// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRect>
#include <QWidget>

namespace headlight::ui {

/// Where a window with its frame goes so that all of it is in the room of a screen, as large as it was if that can be.
QRect placed_in(const QRect& room, const QRect& framed);

/// Windows and dialogs are no larger than the screen they open on.
class FitWindows : public QObject {
public:
    explicit FitWindows(QObject& application);
    bool eventFilter(QObject*, QEvent*) override;
};

}  // namespace headlight::ui
