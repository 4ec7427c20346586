// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/edits/edit_row.h"

#include "headlight/figure/core/number_text.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QGridLayout>
#include <QKeyEvent>
#include <QMouseEvent>

#include <cmath>

namespace headlight::ui {

namespace {

QLabel* effect_label(const QString& name) {
    auto* label = new QLabel;
    label->setFixedWidth(effect_width);
    label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    label->setFont(figure::ui_font(12));
    label->setAccessibleName(name);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

}  // namespace

QString signed_text(double change) {
    const QString text = figure::number_text(change, 3);
    return change > 0 && text != QLatin1String("0.000") ? u'+' + text : text;
}

double watched_number(const intervention::Prediction& of) {
    return std::isnan(of.difference) ? of.log_probability : of.difference;
}

QString sentence_of(const ErrorFacts& facts) {
    const auto text = [](const std::string& s) { return QString::fromStdString(s); };
    QString out = text(facts.problem);
    // "column 6 of "zreo L2H3"": the words stand above.
    if (facts.item.starts_with("column "))
        out += QStringLiteral(" (%1)").arg(text(facts.item.substr(0, facts.item.find(" of "))));
    QStringList rest;
    if (!facts.found.empty()) rest << QStringLiteral("found %1").arg(text(facts.found));
    // The nearest right word is worth more than all of them.
    if (!facts.expected.empty() && facts.hint.empty()) rest << QStringLiteral("expected %1").arg(text(facts.expected));
    if (!rest.isEmpty()) out += QStringLiteral(": ") + rest.join(QStringLiteral(", "));
    if (!facts.hint.empty()) out += QStringLiteral(". ") + text(facts.hint);
    return out;
}

EditRow::EditRow(Document& document, std::size_t line, QWidget* parent)
    : QFrame(parent),
      document_(document),
      line_(line),
      handle_(role_label("muted", QStringLiteral("⠿"))),
      box_(new QCheckBox),
      field_(new EditField(document)),
      alone_(effect_label(QStringLiteral("Effect alone"))),
      together_(effect_label(QStringLiteral("Effect in order"))),
      message_(wrapped_label("note")),
      remove_(quiet_button("close", QStringLiteral("Remove edit %1").arg(line + 1), QStringLiteral("Remove the edit"))) {
    setObjectName(QStringLiteral("EditRow"));
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(8, 1, 8, 1);
    grid->setHorizontalSpacing(8);
    grid->setVerticalSpacing(0);
    handle_->setCursor(Qt::OpenHandCursor);
    handle_->setToolTip(QStringLiteral("Drag to another place (Alt+Up, Alt+Down)"));
    handle_->installEventFilter(this);
    box_->setAccessibleName(QStringLiteral("Edit %1 is on").arg(line + 1));
    box_->setToolTip(QStringLiteral("Switch the edit on or off"));
    field_->setAccessibleName(QStringLiteral("Edit %1").arg(line + 1));
    field_->setProperty("kind", "line");
    field_->installEventFilter(this);
    message_->setContentsMargins(9, 0, 0, 4);
    message_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    message_->hide();
    remove_->setIconSize({12, 12});
    remove_->setFixedWidth(edit_button_width);
    grid->addWidget(handle_, 0, 0);
    grid->addWidget(box_, 0, 1);
    grid->addWidget(field_, 0, 2);
    grid->addWidget(alone_, 0, 3);
    grid->addWidget(together_, 0, 4);
    grid->addWidget(remove_, 0, 5);
    grid->addWidget(message_, 1, 2, 1, 3);
    grid->setColumnStretch(2, 1);
    connect(box_, &QCheckBox::toggled, this, [this](bool on) {
        if (line_ < document_.edits().lines.size() && document_.edits().lines[line_].on != on) document_.enable_edit(line_, on);
    });
    connect(field_, &QLineEdit::editingFinished, this, [this] {
        const auto& lines = document_.edits().lines;
        const QString words = field_->text().trimmed();
        if (line_ >= lines.size() || words == lines[line_].words) return;
        words.isEmpty() ? document_.remove_edit(line_) : document_.set_edit(line_, words);
    });
    connect(
        remove_, &QToolButton::clicked, this, [this] { document_.remove_edit(line_); }, Qt::QueuedConnection);
    show_line();
}

void EditRow::show_line() {
    if (line_ >= document_.edits().lines.size()) return;
    const EditLine& line = document_.edits().lines[line_];
    box_->setChecked(line.on);
    if (!field_->hasFocus() || !field_->isModified()) field_->set_words(line.words);
    set_style_property(*field_, "off", !line.on);
    const auto problem = document_.problem_of_edit(line_);
    set_style_property(*field_, "invalid", problem.has_value());
    const QStringList notes = document_.notes_of_edit(line_);
    message_->setText(problem ? sentence_of(*problem) : notes.join(u'\n'));
    set_style_property(*message_, "role", problem ? "warning" : "note");
    message_->setVisible(!message_->text().isEmpty());
}

void EditRow::show_effect(const intervention::EditEffect* effect, const intervention::Prediction& unedited, bool pending) {
    const auto fill = [&](QLabel& label, const std::optional<intervention::Prediction>& p, const QString& under) {
        label.setText(p ? signed_text(watched_number(*p) - watched_number(unedited)) : pending ? QStringLiteral("…") : QString());
        set_style_property(label, "role", p ? "" : "muted");
        if (!p) return label.setToolTip({});
        label.setToolTip(
            QStringLiteral("%1: log-probability %2, logit %3 (unedited %4, %5)")
                .arg(under, figure::value_text(p->log_probability), figure::value_text(p->logit),
                     figure::value_text(unedited.log_probability), figure::value_text(unedited.logit)) +
            (std::isnan(p->difference) ? QString()
                                       : QStringLiteral(", logit difference %1 (unedited %2)")
                                             .arg(figure::value_text(p->difference), figure::value_text(unedited.difference))) +
            (p->logit == unedited.logit ? QStringLiteral(". This edit does not change the watched answer") : QString()));
    };
    if (effect && effect->alone && effect->alone->logit == unedited.logit && message_->isHidden()) {
        message_->setText(QStringLiteral("Alone it does not change the watched answer"));
        message_->show();
    }
    fill(*alone_, effect ? effect->alone : std::nullopt, QStringLiteral("Under this edit alone"));
    fill(*together_, effect ? effect->together : std::nullopt, QStringLiteral("Under this edit and those above"));
}

bool EditRow::eventFilter(QObject* watched, QEvent* event) {
    if (watched == field_ && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const int by = key->key() == Qt::Key_Up ? -1 : key->key() == Qt::Key_Down ? 1 : 0;
        if (by != 0 && key->modifiers() == Qt::AltModifier) {
            const auto to = static_cast<std::ptrdiff_t>(line_) + by;
            if (to >= 0) document_.move_edit(line_, static_cast<std::size_t>(to));
            return true;
        }
        if (key->key() == Qt::Key_Escape && field_->isModified()) {
            field_->set_words(document_.edits().lines[line_].words);
            return true;
        }
    }
    if (watched == handle_) {
        const bool press = event->type() == QEvent::MouseButtonPress, release = event->type() == QEvent::MouseButtonRelease;
        if (press || release) handle_->setCursor(press ? Qt::ClosedHandCursor : Qt::OpenHandCursor);
        if (release || event->type() == QEvent::MouseMove) {
            const auto* mouse = static_cast<QMouseEvent*>(event);
            Q_EMIT dragged(handle_->mapTo(parentWidget(), mouse->position().toPoint()).y(), release);
        }
        return press || release;
    }
    return QFrame::eventFilter(watched, event);
}

}  // namespace headlight::ui
