// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/jobs/jobs.h"

#include <QFrame>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>

#include <functional>

namespace headlight::ui {

/// The last failure: what failed, where, and what to do. It stands above the canvas, blocks nothing, and scrolls
/// where the window is low.
class ErrorPanel : public QFrame {
    Q_OBJECT
public:
    explicit ErrorPanel(QWidget* parent = nullptr);
    void show_failure(const Failure&);
    /// A button beside the message, until the next one.
    void offer(const QString& what, std::function<void()> work);
    QString message() const { return title_->text() + QStringLiteral("\n") + body_->text(); }

private:
    QLabel *title_, *body_;
    QScrollArea* message_ = nullptr;
    QPushButton* offer_;
    std::function<void()> offered_;
    QString copied_;
};

}  // namespace headlight::ui
