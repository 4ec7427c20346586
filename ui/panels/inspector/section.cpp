// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/inspector/section.h"

#include "headlight/figure/core/theme.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSettings>
#include <QVBoxLayout>

namespace headlight::ui {

Section::Section(const QString& title, const QString& name, QWidget* content, QWidget* parent)
    : QWidget(parent), setting_(QStringLiteral("inspector/folded/") + name), content_(content) {
    setProperty("role", "clear");
    auto* column = new_column(this, {0, 0, 0, 0}, 2);
    auto* rule = new QFrame;
    rule->setProperty("role", "rule");
    heading_ = new QPushButton(title);
    heading_->setProperty("kind", "section");
    heading_->setFont(figure::ui_font(12.5, QFont::DemiBold));
    heading_->setIconSize({12, 12});
    heading_->setLayoutDirection(Qt::RightToLeft);  // the chevron follows the title
    note_ = role_label("muted");
    note_->setFont(figure::ui_font(11.5));
    auto* top = new QHBoxLayout;
    top->setSpacing(8);
    add_widgets(*top, {heading_});
    top->addStretch(1);
    add_widgets(*top, {note_});
    column->addWidget(rule);
    column->addLayout(top);
    column->addWidget(content_);
    folded_ = QSettings().value(setting_, false).toBool();
    connect(heading_, &QPushButton::clicked, this, [this] {
        set_folded(!folded_);
        QSettings().setValue(setting_, folded_);
    });
    show_fold();
}

void Section::set_note(const QString& text) { note_->setText(text); }

void Section::set_folded(bool folded) {
    if (folded == folded_) return;
    folded_ = folded;
    show_fold();
    Q_EMIT fold_changed(folded);
}

void Section::show_fold() {
    content_->setVisible(!folded_);
    note_->setVisible(!folded_);
    heading_->setIcon(icon(folded_ ? QStringLiteral("chevron-right") : QStringLiteral("chevron-down")));
    heading_->setAccessibleDescription(folded_ ? QStringLiteral("folded") : QStringLiteral("unfolded"));
}

}  // namespace headlight::ui
