// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>

namespace headlight::ui {

/// A small window below a button that goes with Esc or a click elsewhere.
class Popover : public QFrame {
    Q_OBJECT
public:
    explicit Popover(QWidget* parent);
    /// Inside the screen, its left or right edge at the button's.
    void show_below(QWidget* button, Qt::Edge edge = Qt::LeftEdge);
};

}  // namespace headlight::ui
