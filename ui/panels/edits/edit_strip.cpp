// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/edits/edit_strip.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>

#include <algorithm>
#include <cmath>

namespace headlight::ui {

namespace {

constexpr int longest_words = 28;  ///< of a chip; the tooltip has all

}  // namespace

EditStrip::EditStrip(Document& document, EditsPanel& panel, QWidget* parent)
    : QWidget(parent),
      document_(document),
      panel_(panel),
      row_(new_row(this, {16, 4, 12, 4}, 6)),
      add_(new QToolButton),
      list_(new QToolButton),
      effect_(role_label("note")) {
    setObjectName(QStringLiteral("EditStrip"));
    setAccessibleName(QStringLiteral("Edits"));
    setAttribute(Qt::WA_StyledBackground);
    row_->addWidget(role_label("note", QStringLiteral("Edits")));
    for (QToolButton* button : {add_, list_}) {
        button->setProperty("kind", "quiet");
        button->setProperty("plain", true);
        button->setFocusPolicy(Qt::TabFocus);
    }
    add_->setText(QStringLiteral("Add"));
    add_->setToolTip(QStringLiteral("Type another edit"));
    list_->setIcon(icon(QStringLiteral("chevron-down")));
    list_->setIconSize({12, 12});
    list_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    list_->setLayoutDirection(Qt::RightToLeft);
    list_->setToolTip(QStringLiteral("The list of edits, each with its effect (Ctrl+Shift+E)"));
    effect_->setToolTip(
        QStringLiteral("What all edits that are on do to the watched answer: its log-probability, and its logit minus that of "
                       "the contrast. Both are those of the view's chips"));
    row_->addWidget(add_);
    row_->addStretch(1);
    add_widgets(*row_, {effect_, list_});
    connect(add_, &QToolButton::clicked, this, [this] { Q_EMIT line_asked(std::nullopt); });
    connect(list_, &QToolButton::clicked, this, &EditStrip::list_asked);
    connect(&panel_.effects(), &EditEffects::changed, this, &EditStrip::show_effect);
    connect(&document_, &Document::changed, this, &EditStrip::show_document);
    show_document();
}

void EditStrip::make_chips() {
    for (const Chip& chip : chips_) {
        chip.frame->hide();
        chip.frame->deleteLater();  // it may be what has just been clicked
    }
    chips_.clear();
    for (std::size_t i = 0; i < document_.edits().lines.size(); ++i) {
        Chip chip{new QFrame, new QToolButton, new QToolButton};
        chip.frame->setProperty("role", "subject");
        auto* inside = new_row(chip.frame, {1, 1, 1, 1}, 0);
        chip.body->setProperty("kind", "chip");
        chip.body->setProperty("set", true);
        chip.body->setFocusPolicy(Qt::TabFocus);
        chip.remove->setProperty("kind", "chip-clear");
        chip.remove->setIcon(icon(QStringLiteral("close")));
        chip.remove->setIconSize({10, 10});
        chip.remove->setFocusPolicy(Qt::NoFocus);
        connect(chip.body, &QToolButton::clicked, this, [this, i] { Q_EMIT line_asked(i); });
        connect(chip.remove, &QToolButton::clicked, this, [this, i] { document_.remove_edit(i); });
        add_widgets(*inside, {chip.body, chip.remove});
        row_->insertWidget(1 + int(i), chip.frame);
        chips_.push_back(chip);
    }
}

void EditStrip::show_document() {
    const auto& lines = document_.edits().lines;
    setVisible(!lines.empty() && panel_.isHidden());  // the list says the same
    panel_.watch(!lines.empty());
    if (chips_.size() != lines.size()) make_chips();
    for (std::size_t i = 0; i < chips_.size(); ++i) {
        const auto problem = lines[i].on ? document_.problem_of_edit(i) : std::nullopt;
        const QString words = lines[i].words;
        chips_[i].body->setText(words.size() > longest_words ? words.left(longest_words - 1) + u'…' : words);
        chips_[i].body->setEnabled(true);
        set_style_property(*chips_[i].body, "set", lines[i].on);
        set_style_property(*chips_[i].frame, "wrong", problem.has_value());
        chips_[i].body->setAccessibleName(words + (lines[i].on ? QString() : QStringLiteral(", off")));
        chips_[i].body->setToolTip(problem ? sentence_of(*problem) : lines[i].on ? words : words + QStringLiteral(": off"));
        chips_[i].remove->setAccessibleName(QStringLiteral("Remove “%1”").arg(words));
        chips_[i].remove->setToolTip(QStringLiteral("Remove this edit"));
    }
    list_->setText(lines.size() == 1 ? QStringLiteral("1 edit") : QStringLiteral("%1 edits").arg(lines.size()));
    show_effect();
}

void EditStrip::show_effect() {
    const auto& found = panel_.effects().found();
    QString words;
    if (found) {
        const auto last = std::ranges::find_if(found->effects.edits.rbegin(), found->effects.edits.rend(),
                                               [](const auto& edit) { return edit.together.has_value(); });
        if (last != found->effects.edits.rend()) {
            const intervention::Prediction &now = *last->together, &before = found->effects.unedited;
            const QString answer = found->answer.section(QStringLiteral(" − "), 0, 0);
            words = QStringLiteral("log p %1 %2").arg(answer, signed_text(now.log_probability - before.log_probability));
            if (!std::isnan(now.difference))
                words += QStringLiteral("  ·  %1 %2").arg(found->answer, signed_text(now.difference - before.difference));
        }
    } else if (panel_.effects().problem()) {
        words = QStringLiteral("no effects here: see B − A");
    }
    effect_->setText(words);
    fit();
}

/// Chips without room are in the list alone.
void EditStrip::fit() {
    int room = width() - 28 - 60 - add_->sizeHint().width() - effect_->sizeHint().width() - list_->sizeHint().width() - 36;
    for (const Chip& chip : chips_) {
        room -= chip.frame->sizeHint().width() + 6;
        chip.frame->setVisible(room >= 0);
    }
}

void EditStrip::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit();
}

}  // namespace headlight::ui
