// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/fit_windows.h"

#include <QEvent>
#include <QScreen>
#include <QTimer>

#include <algorithm>

namespace headlight::ui {

namespace {

constexpr int framed_ms = 250;  ///< window managers add their frame after the window is shown

void fit(QWidget& window) {
    if (!window.screen() || window.isHidden() || window.isMaximized() || window.isFullScreen()) return;
    const QRect framed = window.frameGeometry(), room = window.screen()->availableGeometry(), placed = placed_in(room, framed);
    if (placed == framed) return;
    window.resize(window.size() + placed.size() - framed.size());
    window.move(placed.topLeft());
}

}  // namespace

QRect placed_in(const QRect& room, const QRect& framed) {
    const QSize size = framed.size().boundedTo(room.size());
    return {QPoint(std::clamp(framed.left(), room.left(), room.right() + 1 - size.width()),
                   std::clamp(framed.top(), room.top(), room.bottom() + 1 - size.height())),
            size};
}

FitWindows::FitWindows(QObject& application) : QObject(&application) { application.installEventFilter(this); }

bool FitWindows::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::Show || event->spontaneous() || !watched->isWidgetType()) return false;
    auto* window = static_cast<QWidget*>(watched);
    if (!window->isWindow() || (window->windowType() != Qt::Window && window->windowType() != Qt::Dialog)) return false;
    if (window->screen() && !window->isMaximized() && !window->isFullScreen()) {
        constexpr QSize frame(16, 48);  // a guess, so that nothing jumps when the frame is there
        const QSize room = window->screen()->availableGeometry().size() - frame;
        if (const QSize size = window->size().boundedTo(room); size != window->size()) window->resize(size);
    }
    QTimer::singleShot(framed_ms, window, [window] { fit(*window); });
    return false;
}

}  // namespace headlight::ui
