// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/jobs/jobs.h"

#include <QFrame>
#include <QLabel>

namespace headlight::ui {

/// What could not be done: what, where, what to do. Stands above the canvas and stops nobody.
class ErrorPanel : public QFrame {
    Q_OBJECT
public:
    explicit ErrorPanel(QWidget* parent = nullptr);
    void show_failure(const Failure&);
    QString message() const { return title_->text() + QStringLiteral("\n") + body_->text(); }

private:
    QLabel *title_, *body_;
    QString copied_;
};

}  // namespace headlight::ui
