// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/subject_chips.h"

#include "headlight/analyze/why/why.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QKeyEvent>

#include <algorithm>

namespace headlight::ui {

namespace {

constexpr Subject subjects_in_order[] = {Subject::at,     Subject::to,      Subject::answer, Subject::contrast,
                                         Subject::neuron, Subject::passage, Subject::against};
constexpr int longest_value = 16;  ///< letters; the tooltip has the whole

QString help(Subject subject) {
    switch (subject) {
        case Subject::at: return QStringLiteral("The query: the token that attends ([ and ] step)");
        case Subject::to: return QStringLiteral("The key: the token that is attended to");
        case Subject::answer:
            return QStringLiteral("The token that is explained; another text takes it away unless it is locked");
        case Subject::contrast: return QStringLiteral("The token that the answer is compared with");
        case Subject::neuron: return QStringLiteral("The neuron that is followed");
        case Subject::passage: return QStringLiteral("The passage whose reach is shown");
        case Subject::against: return QStringLiteral("The other keys, or the one, that the key is compared with");
    }
    return {};
}

QString shortened(const QString& text) { return text.size() <= longest_value ? text : text.left(longest_value - 1) + u'…'; }

}  // namespace

SubjectChips::SubjectChips(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent), document_(document), reading_(jobs), popover_(new SubjectPopover(document, jobs, this)) {
    setAccessibleName(QStringLiteral("Subject of the view"));
    auto* row = new_row(this, {0, 0, 0, 0}, 6);
    for (const Subject subject : subjects_in_order) {
        Chip chip{new QFrame, new QToolButton, new QToolButton};
        chip.frame->setProperty("role", "subject");
        auto* inside = new_row(chip.frame, {1, 1, 1, 1}, 0);
        chip.body->setProperty("kind", "chip");
        chip.body->setFocusPolicy(Qt::TabFocus);
        chip.body->installEventFilter(this);
        chip.clear->setProperty("kind", "chip-clear");
        chip.clear->setIcon(icon(QStringLiteral("close")));
        chip.clear->setIconSize({10, 10});
        chip.clear->setFocusPolicy(Qt::NoFocus);
        connect(chip.body, &QToolButton::clicked, this, [this, subject] { open(subject); });
        connect(chip.clear, &QToolButton::clicked, this, [this, subject] { clear(subject); });
        inside->addWidget(chip.body);
        inside->addWidget(chip.clear);
        row->addWidget(chip.frame);
        chips_[subject] = chip;
    }
    connect(&document_, &Document::changed, this, &SubjectChips::show_document);
    connect(&document_.selection(), &SelectionModel::changed, this, [this](bool hover_only) {
        if (!hover_only) show_document();
    });
    show_document();
}

void SubjectChips::set_view(const View& view) {
    view_ = view;
    show_document();
}

void SubjectChips::set_compact(bool compact) {
    if (std::exchange(compact_, compact) != compact) show_document();
}

void SubjectChips::focus_first() {
    if (!shown_.empty()) chip(shown_.front()).setFocus(Qt::ShortcutFocusReason);
}

void SubjectChips::open(Subject subject) { popover_->open_below(chips_.at(subject).frame, view_, subject); }

QString SubjectChips::token_label(const std::vector<text::TokenLabel>& labels, Position at) const {
    if (at.value >= std::ssize(labels)) return QString::number(at.value);
    const text::TokenLabel& label = labels[static_cast<std::size_t>(at.value)];
    return QStringLiteral("%1 (%2)").arg(shortened(QString::fromStdString(label.continuation + label.text))).arg(at.value);
}

SubjectChips::Words SubjectChips::words_of(Subject subject) const {
    const figure::Selection& s = document_.selection().get();
    const figure::ViewSpec& spec = figure::view_spec(view_);
    const auto& trace = document_.trace();
    // A prediction is read at the last token until a person pins another one.
    const bool chosen = !(spec.needs.chosen && s.found_pins);
    switch (subject) {
        case Subject::at: {
            if (!trace) return {};
            if (chosen && !s.pinned_queries.empty()) return {token_label(trace->labels(), s.pinned_queries.back()), true};
            if (spec.needs.chosen) return {token_label(trace->labels(), figure::default_position(*trace, spec)), false};
            return {QStringLiteral("any token"), false};
        }
        case Subject::to:
            if (trace && chosen && !s.pinned_keys.empty()) return {token_label(trace->key_labels(), s.pinned_keys.back()), true};
            return {QStringLiteral("any token"), false};
        case Subject::answer:
        case Subject::contrast: {
            const figure::ViewOption* option = option_of(spec, subject);
            const QString value = QString::fromStdString(view_value(document_.options(), view_, *option));
            if (value.isEmpty())
                return {subject == Subject::contrast ? QStringLiteral("none")
                        : option->name == "watch"    ? QStringLiteral("next in the text")
                                                     : QStringLiteral("likeliest"),
                        false};
            const TokenReading reading = reading_.read(value);
            return {shortened(option->next && value == QStringLiteral("next") ? QStringLiteral("next in the text")
                              : reading.taken.empty()                         ? value
                                                                              : reading.taken.front().label),
                    true};
        }
        case Subject::neuron:
            if (!s.neuron) return {QStringLiteral("strongest"), false};
            return {QStringLiteral("L%1N%2").arg(s.neuron->layer.value).arg(s.neuron->neuron.value), true};
        case Subject::passage: {
            const QString value = QString::fromStdString(view_value(document_.options(), view_, *option_of(spec, subject)));
            return {value.isEmpty() ? QStringLiteral("paragraph of the key") : shortened(value), !value.isEmpty()};
        }
        case Subject::against: {
            const std::string value = view_value(document_.options(), view_, *option_of(spec, subject));
            if (value.empty()) return {QStringLiteral("the others"), false};
            if (const auto word = enum_value<analyze::Against>(value)) return {QString::fromUtf8(enum_row(*word).title), true};
            const Position key(QString::fromStdString(value).toLongLong());
            return {trace ? token_label(trace->key_labels(), key) : QString::number(key.value), true};
        }
    }
    return {};
}

void SubjectChips::clear(Subject subject) {
    SelectionModel& selection = document_.selection();
    figure::Selection next = selection.get();
    switch (subject) {
        case Subject::at: next.pinned_queries.clear(); break;
        case Subject::to: next.pinned_keys.clear(); break;
        case Subject::neuron: next.neuron.reset(); break;
        case Subject::answer:
        case Subject::contrast:
        case Subject::passage:
        case Subject::against: return document_.edit_options([subject](ViewOptions& o) { set_subject(o, subject, {}); });
    }
    selection.set(next);
}

void SubjectChips::show_document() {
    const auto& trace = document_.trace();
    reading_.clear();
    if (trace) reading_.take(trace->tokenizer(), trace->config());
    shown_ = trace ? subjects_of(figure::view_spec(view_)) : std::vector<Subject>{};
    for (auto& [subject, chip] : chips_) {
        const bool on = std::ranges::find(shown_, subject) != shown_.end();
        chip.frame->setVisible(on);
        if (!on) continue;
        const Words words = words_of(subject);
        const QString whole = QStringLiteral("%1 %2").arg(subject_word(subject), words.value);
        const bool bare = compact_ && (subject == Subject::at || subject == Subject::to) && words.set;
        chip.body->setText(bare ? words.value : whole);
        chip.body->setAccessibleName(whole);
        chip.body->setToolTip(help(subject));
        set_style_property(*chip.body, "set", words.set);
        chip.clear->setVisible(words.set);
        chip.clear->setAccessibleName(QStringLiteral("Clear “%1”").arg(whole));
        chip.clear->setToolTip(QStringLiteral("Clear “%1” (Delete)").arg(subject_word(subject)));
    }
    Q_EMIT resized();
}

void SubjectChips::step_from(QObject* chip, int by) {
    const auto now = std::ranges::find_if(shown_, [&](Subject s) { return chips_.at(s).body == chip; });
    const auto next = (now - shown_.begin()) + by;
    if (next >= 0 && next < std::ssize(shown_)) this->chip(shown_[static_cast<std::size_t>(next)]).setFocus();
}

bool SubjectChips::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    const auto owner = std::ranges::find_if(chips_, [&](const auto& each) { return each.second.body == watched; });
    const bool ours = key->key() == Qt::Key_Left || key->key() == Qt::Key_Right || key->key() == Qt::Key_Delete ||
                      key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
    if (!ours || owner == chips_.end()) return false;
    event->accept();
    if (event->type() == QEvent::ShortcutOverride) return true;
    switch (key->key()) {
        case Qt::Key_Left: step_from(watched, -1); break;
        case Qt::Key_Right: step_from(watched, 1); break;
        case Qt::Key_Delete: clear(owner->first); break;
        default: open(owner->first);
    }
    return true;
}

}  // namespace headlight::ui
