// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRect>
#include <QString>

class QPoint;
class QWidget;

namespace headlight::ui {

/// A tip of a painted part of a widget. Qt hides a tip when the pointer moves; what is painted may change below a pointer that
/// rests, and then forget() hides it.
class OwnTip {
public:
    /// An empty text hides any tip. `area`: of the widget, where the pointer may move without ending it; empty: anywhere.
    void show(const QPoint& global, const QString& text, QWidget* of, const QRect& area = {});
    void forget();

private:
    QString text_;
};

}  // namespace headlight::ui
