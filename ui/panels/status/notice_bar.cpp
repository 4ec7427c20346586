// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/status/notice_bar.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QToolButton>

#include <utility>

namespace headlight::ui {

NoticeBar::NoticeBar(QWidget* parent) : QFrame(parent), text_(new QLabel), action_(new QPushButton), second_(new QPushButton) {
    setObjectName(QStringLiteral("NoticeBar"));
    setAccessibleName(QStringLiteral("Notice"));
    text_->setFont(figure::ui_font(12));
    text_->setTextFormat(Qt::PlainText);
    text_->setWordWrap(true);
    QToolButton* close = quiet_button("close", QStringLiteral("Close"), QStringLiteral("Close"));
    auto* row = new_row(this, {14, 6, 8, 6});
    row->addWidget(text_, 1);
    row->addWidget(action_);
    row->addWidget(second_);
    row->addWidget(close);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    const auto does = [this](QPushButton* button, std::function<void()> NoticeBar::*run) {
        connect(button, &QPushButton::clicked, this, [this, run] {
            hide();
            if (const auto work = this->*run) work();  // which may offer the next thing
        });
    };
    does(action_, &NoticeBar::run_);
    does(second_, &NoticeBar::run_second_);
    hide();
}

void NoticeBar::offer(const QString& text, const QString& action, std::function<void()> run) {
    text_->setText(text);
    action_->setText(action);
    run_ = std::move(run);
    second_->hide();
    show();
}

void NoticeBar::offer(const QString& text, Choice first, Choice second) {
    offer(text, first.text, std::move(first.run));
    second_->setText(second.text);
    run_second_ = std::move(second.run);
    second_->show();
}

}  // namespace headlight::ui
