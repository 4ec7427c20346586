// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/state.h"

#include <QFrame>

#include <functional>
#include <vector>

class QLabel;
class QPushButton;

namespace headlight::ui {

class MainWindow;

/// A frame around the part of a window that is spoken of; the mouse does not notice it.
class PartFrame : public QWidget {
    Q_OBJECT
public:
    explicit PartFrame(QWidget& window);
    void surround(const QWidget& part);

protected:
    void paintEvent(QPaintEvent*) override;
};

/// Asks once, at the first start, whether one would like the tour.
class TourOffer : public QFrame {
    Q_OBJECT
public:
    explicit TourOffer(MainWindow&);
    QPushButton& yes() { return *yes_; }

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void place();

    QPushButton* yes_;
};

/// Six short steps through the window, each beside the part it is about; the window stays usable. Where nothing is pinned, a
/// pair is, as long as it lasts.
class Tour : public QFrame {
    Q_OBJECT
public:
    explicit Tour(MainWindow&);
    void start();
    void show_step(int);
    /// Closes it and restores the views that were open before.
    void end();
    QPushButton& next() { return *next_; }
    QPushButton& back() { return *back_; }
    int step() const { return step_; }
    int steps() const { return int(steps_.size()); }

protected:
    bool eventFilter(QObject*, QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;

private:
    enum class Side { below, right, left, over };
    struct Step {
        QString title, text;
        QWidget* part;
        Side side;
        std::function<void()> prepare;
    };
    void place();

    MainWindow& window_;
    PartFrame* frame_;
    figure::Selection selected_before_, selected_;  ///< before the tour has pinned a pair, and with it
    std::vector<Step> steps_;
    OpenViews before_;
    int step_ = 0;
    QLabel *title_, *text_, *count_;
    QPushButton *back_, *next_;
};

}  // namespace headlight::ui
