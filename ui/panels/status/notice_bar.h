// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFrame>
#include <QLabel>
#include <QPushButton>

#include <functional>

namespace headlight::ui {

/// One thing that the user may want to do now, above the canvas: it blocks nothing.
class NoticeBar : public QFrame {
    Q_OBJECT
public:
    explicit NoticeBar(QWidget* parent = nullptr);
    struct Choice {
        QString text;
        std::function<void()> run;
    };
    void offer(const QString& text, const QString& action, std::function<void()> run);
    /// One of two.
    void offer(const QString& text, Choice first, Choice second);
    QString text() const { return text_->text(); }
    QPushButton& action() { return *action_; }
    QPushButton& second() { return *second_; }

private:
    QLabel* text_;
    QPushButton *action_, *second_;
    std::function<void()> run_, run_second_;
};

}  // namespace headlight::ui
