// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QMenuBar>
#include <QPointer>

namespace headlight::ui {

/// A menu bar that appears with F10 or a tap on Alt and goes again with its menus, unless it is kept.
class FoldingMenuBar : public QMenuBar {
    Q_OBJECT
public:
    explicit FoldingMenuBar(QWidget* parent);

    /// Opens the first menu; closes the menu that is open.
    void open();
    void keep(bool);
    bool kept() const { return kept_; }
    /// A menu of the bar.
    QMenu* add(const QString& title);

private:
    class Keys;
    void fold();
    /// Of the whole program; true: it was meant for the menus.
    bool take(QEvent*);

    QPointer<QWidget> before_;  ///< had the focus before the menus
    bool kept_ = false;
    bool alt_alone_ = false;  ///< Alt is down, and nothing else was pressed since
};

}  // namespace headlight::ui
