// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QSplitter>

namespace headlight::ui {

/// The views, and a panel below them that has the height it was given as long as the views have enough: in a low window, or below
/// a message, it is the panel that gives way, down to its least height.
class StackedViews : public QSplitter {
    Q_OBJECT
public:
    StackedViews(QWidget* views, QWidget* panel);
    /// The panel's usual height.
    void reset();

protected:
    void resizeEvent(QResizeEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void share();

    QWidget* panel_;
    int asked_ = 0;  ///< height of the panel by hand; 0: its usual one
};

}  // namespace headlight::ui
