// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QEvent>
#include <QStyledItemDelegate>

#include <functional>

namespace headlight::ui {

/// A row of the finder: name, a bar in the head's colour, numbers; the current row as one soft pill.
class HeadRowDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    HeadRowDelegate(Document& document, QObject* parent) : QStyledItemDelegate(parent), document_(document) {}
    void paint(QPainter*, const QStyleOptionViewItem&, const QModelIndex&) const override;
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {60, 25}; }

private:
    Document& document_;
};

/// Reports that the pointer has left a widget.
class LeaveFilter : public QObject {
    Q_OBJECT
public:
    LeaveFilter(std::function<void()> left, QObject* parent) : QObject(parent), left_(std::move(left)) {}
    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() == QEvent::Leave) left_();
        return false;
    }

private:
    std::function<void()> left_;
};

}  // namespace headlight::ui
