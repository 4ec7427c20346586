// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/stacked_views.h"

#include <QEvent>
#include <QTimer>

#include <algorithm>

namespace headlight::ui {

namespace {

constexpr int least_of_views = 40;  ///< so that nothing lies over another in the lowest window
constexpr int enough_for_views = 260;

}  // namespace

StackedViews::StackedViews(QWidget* views, QWidget* panel) : QSplitter(Qt::Vertical), panel_(panel) {
    setHandleWidth(1);
    setChildrenCollapsible(false);
    views->setMinimumHeight(least_of_views);
    addWidget(views);
    addWidget(panel);
    setStretchFactor(0, 1);
    setStretchFactor(1, 0);
    panel->installEventFilter(this);
    connect(this, &QSplitter::splitterMoved, this, [this] { asked_ = sizes()[1]; });
}

void StackedViews::reset() {
    asked_ = 0;
    share();
}

void StackedViews::resizeEvent(QResizeEvent* event) {
    QSplitter::resizeEvent(event);
    share();
}

bool StackedViews::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Show) QTimer::singleShot(0, this, &StackedViews::share);  // once it has its place
    return QSplitter::eventFilter(watched, event);
}

void StackedViews::share() {
    if (panel_->isHidden()) return;
    const int all = height() - handleWidth(), least = std::max(panel_->minimumSizeHint().height(), panel_->minimumHeight());
    const int wanted = asked_ > 0 ? asked_ : panel_->sizeHint().height();
    const int height = std::clamp(wanted, least, std::max(least, all - enough_for_views));
    if (sizes()[1] != height) setSizes({all - height, height});
}

}  // namespace headlight::ui
