// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/status/notice_bar.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QToolButton>

#include <utility>

namespace headlight::ui {

NoticeBar::NoticeBar(QWidget* parent) : QFrame(parent), text_(new QLabel), action_(new QPushButton) {
    setObjectName(QStringLiteral("NoticeBar"));
    setAccessibleName(QStringLiteral("Notice"));
    text_->setFont(figure::ui_font(12));
    text_->setTextFormat(Qt::PlainText);
    text_->setWordWrap(true);
    QToolButton* close = quiet_button("close", QStringLiteral("Close"), QStringLiteral("Close"));
    auto* row = new_row(this, {14, 6, 8, 6});
    row->addWidget(text_, 1);
    row->addWidget(action_);
    row->addWidget(close);
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    connect(action_, &QPushButton::clicked, this, [this] {
        hide();
        if (const auto run = run_) run();  // which may offer the next thing
    });
    hide();
}

void NoticeBar::offer(const QString& text, const QString& action, std::function<void()> run) {
    text_->setText(text);
    action_->setText(action);
    run_ = std::move(run);
    show();
}

}  // namespace headlight::ui
