// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/canvas.h"

#include <QNativeGestureEvent>
#include <QWheelEvent>

#include <cmath>

namespace headlight::ui {

Canvas::Canvas(QWidget* parent) : QAbstractScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setProperty("kind", "canvas");
    setFocusPolicy(Qt::StrongFocus);
    viewport()->setMouseTracking(true);
    viewport()->setAutoFillBackground(false);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
}

void Canvas::set_placeholder(const QString& title, const QString& text) {
    placeholder_ = {title, text};
    if (!has_figure()) describe(nullptr);
    viewport()->update();
}

void Canvas::describe(const figure::Figure* figure) {
    setAccessibleDescription(figure ? figure->title() + QStringLiteral(". ") + figure->description() : placeholder_.words());
}

void Canvas::zoom_by_wheel(QWheelEvent& event) {
    zoom_by(std::pow(zoom_step, event.angleDelta().y() / 120.0), event.position());
    hover(event.position());
    event.accept();
}

bool Canvas::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const figure::Hit hit = hit_at(help->pos());
        const QRectF area = in_viewport(hit.area);
        tip_.show(help->globalPos(), hit.tip, viewport(), area.isEmpty() ? QRect() : area.toAlignedRect());
        return true;
    }
    if (event->type() == QEvent::Leave) leave();
    if (event->type() == QEvent::NativeGesture) {
        const auto* gesture = static_cast<QNativeGestureEvent*>(event);
        if (gesture->gestureType() == Qt::ZoomNativeGesture) {
            zoom_by(1 + gesture->value(), gesture->position());
            return true;
        }
    }
    return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace headlight::ui
