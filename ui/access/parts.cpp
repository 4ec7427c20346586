// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/access/parts.h"

#include <QAbstractScrollArea>

namespace headlight::ui {

namespace {

QWidget* viewport_of(const QAccessibleInterface& of) {
    auto* area = qobject_cast<QAbstractScrollArea*>(of.object());
    return area ? area->viewport() : qobject_cast<QWidget*>(of.object());
}

}  // namespace

PaintedParts::PaintedParts(QWidget* widget, QAccessible::Role role) : QAccessibleWidget(widget, role) {}
PaintedParts::~PaintedParts() { forget_children(); }

void PaintedParts::forget_children() const {
    for (const QAccessible::Id id : children_)
        if (id) QAccessible::deleteAccessibleInterface(id);
    children_.clear();
}

int PaintedParts::childCount() const { return parts(); }

QAccessibleInterface* PaintedParts::child(int index) const {
    const int count = parts();
    if (index < 0 || index >= count) return nullptr;
    for (std::size_t gone = std::size_t(count); gone < children_.size(); ++gone)
        if (children_[gone]) QAccessible::deleteAccessibleInterface(children_[gone]);
    children_.resize(std::size_t(count), 0);
    QAccessible::Id& id = children_[std::size_t(index)];
    if (!id) id = QAccessible::registerAccessibleInterface(new PaintedPart(*this, index));
    return QAccessible::accessibleInterface(id);
}

int PaintedParts::indexOfChild(const QAccessibleInterface* child) const {
    return child && child->parent() == this ? static_cast<const PaintedPart*>(child)->index() : -1;
}

QAccessibleInterface* PaintedParts::childAt(int x, int y) const {
    const QPoint at = viewport_of(*this)->mapFromGlobal(QPoint(x, y));
    for (int i = 0; i < parts(); ++i)
        if (area_of(i).contains(at)) return child(i);
    return nullptr;
}

QAccessibleInterface* PaintedParts::focusChild() const { return widget()->hasFocus() ? child(current()) : nullptr; }

QString PaintedPart::text(QAccessible::Text kind) const { return kind == QAccessible::Name ? of_.name_of(index_) : QString(); }

QRect PaintedPart::rect() const {
    const QRect area = of_.area_of(index_);
    return {viewport_of(of_)->mapToGlobal(area.topLeft()), area.size()};
}

QAccessible::State PaintedPart::state() const {
    QAccessible::State s;
    s.selectable = s.focusable = true;
    s.selected = of_.selected(index_);
    s.focused = s.selected && viewport_of(of_)->parentWidget()->hasFocus() && of_.current() == index_;
    s.offscreen = !viewport_of(of_)->rect().intersects(of_.area_of(index_));
    return s;
}

void* PaintedPart::interface_cast(QAccessible::InterfaceType type) {
    return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
}

}  // namespace headlight::ui
