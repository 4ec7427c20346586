// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/view_pills.h"

#include "ui/canvas/recipe.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QKeyEvent>

#include <algorithm>

namespace headlight::ui {

namespace {

constexpr int pill_gap = 2, question_gap = 8;

/// As a button or a menu shows it.
QString without_mnemonic(QString text) { return text.replace(u'&', QLatin1String("&&")); }

QToolButton* view_button(const char* kind, const QString& text) {
    auto* button = new QToolButton;
    button->setProperty("kind", kind);
    button->setText(without_mnemonic(text));
    button->setCheckable(true);
    button->setFocusPolicy(Qt::TabFocus);
    button->setAccessibleName(text);
    return button;
}

}  // namespace

ViewPills::ViewPills(Document& document, QWidget* parent)
    : QObject(parent),
      document_(document),
      questions_(new QWidget(parent)),
      pills_(new QWidget(parent)),
      question_list_(view_button("question", {})),
      more_(view_button("tab", {})),
      presets_(new QMenu(parent)) {
    build();
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        using enum Document::Change;
        if (change == model || change == trace || change == other) look_for_reasons();
    });
    look_for_reasons();
}

void ViewPills::build() {
    questions_->setAccessibleName(QStringLiteral("Questions"));
    pills_->setAccessibleName(QStringLiteral("Views"));
    presets_->setToolTipsVisible(true);
    auto* tabs = new_row(questions_, {0, 0, 0, 0}, question_gap);
    auto* row = new_row(pills_, {0, 0, 0, 0}, pill_gap);
    question_list_->setProperty("menu", true);
    question_list_->setPopupMode(QToolButton::InstantPopup);
    question_list_->setMenu(new QMenu(question_list_));
    question_list_->menu()->setToolTipsVisible(true);
    question_list_->setChecked(true);
    row->addWidget(question_list_);
    more_->setProperty("menu", true);
    more_->setCheckable(false);
    more_->setPopupMode(QToolButton::InstantPopup);
    more_->setMenu(new QMenu(more_));
    more_->menu()->setToolTipsVisible(true);
    const auto questions = figure::view_questions();
    for (std::size_t q = 0; q < questions.size(); ++q) {
        const QString title = QString::fromStdString(questions[q].title);
        QToolButton* tab = view_button("question", title);
        tab->installEventFilter(this);
        const auto open = [this, q] {
            if (const View view = view_of_question(q); !view.empty()) Q_EMIT view_asked(view);
            show_view();  // a click on the open one must not uncheck it
        };
        connect(tab, &QToolButton::clicked, this, open);
        QAction* entry = question_list_->menu()->addAction(title, this, open);
        entry->setCheckable(true);
        question_buttons_.push_back(tab);
        question_entries_.push_back(entry);
        tabs->addWidget(tab);
        for (const figure::ViewPlace& place : questions[q].places) {
            Pill pill{&place, q, view_button("tab", QString::fromStdString(place.title)), nullptr};
            pill.button->setLayoutDirection(Qt::RightToLeft);  // the chevron of the presets stands at the right
            pill.button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
            pill.button->setIconSize({12, 12});
            pill.button->installEventFilter(this);
            const auto open_place = [this, &place] {
                if (const View view = view_of_place(place); !view.empty()) Q_EMIT view_asked(view);
            };
            connect(pill.button, &QToolButton::clicked, this, [this, pill, open_place] {
                const auto seat = figure::seat_of(view_);
                if (seat && &figure::place_at(*seat) == pill.place)
                    show_presets(pill);
                else
                    open_place();
                show_view();
            });
            pill.folded = more_->menu()->addAction(pill.button->text(), this, open_place);
            all_.push_back(pill);
            row->addWidget(pill.button);
        }
    }
    row->addWidget(more_);
    tabs->addStretch();
    question_list_->hide();
    more_->hide();
}

void ViewPills::look_for_reasons() {
    for (const figure::ViewSpec& spec : figure::view_specs()) reasons_[spec.id] = why_no_view(document_, spec.id);
    show_view();
}

QString ViewPills::why_not(const View& view) const {
    const auto found = reasons_.find(view);
    return found == reasons_.end() ? QString() : found->second;
}

QString ViewPills::reason_of(const figure::ViewPlace& place) const {
    for (const figure::ViewPreset& preset : place.presets)
        if (why_not(preset.view).isEmpty()) return {};
    return why_not(place.presets.front().view);
}

/// A picture is offered where the model reads pictures alone.
bool ViewPills::has(const figure::ViewPlace& place) const {
    return !figure::view_spec(place.presets.front().view).of_pictures || reads_pictures(document_.model());
}

View ViewPills::view_of_place(const figure::ViewPlace& place) const {
    if (const auto last = last_of_place_.find(&place); last != last_of_place_.end() && why_not(last->second).isEmpty())
        return last->second;
    for (const figure::ViewPreset& preset : place.presets)
        if (why_not(preset.view).isEmpty()) return preset.view;
    return {};
}

View ViewPills::next_of_place(const figure::ViewPlace& place) const {
    const auto seat = figure::seat_of(view_);
    if (!seat || &figure::place_at(*seat) != &place) {
        const View view = view_of_place(place);
        return view.empty() ? place.presets.front().view : view;  // the canvas says why it is not there
    }
    for (std::size_t i = 1; i <= place.presets.size(); ++i) {
        const View& next = place.presets[(seat->preset + i) % place.presets.size()].view;
        if (why_not(next).isEmpty()) return next;
    }
    return view_;
}

View ViewPills::view_of_question(std::size_t number) const {
    if (const auto last = last_of_question_.find(number); last != last_of_question_.end() && why_not(last->second).isEmpty())
        return last->second;
    for (const figure::ViewPlace& place : figure::view_questions()[number].places)
        if (has(place))
            if (const View view = view_of_place(place); !view.empty()) return view;
    return {};
}

QToolButton& ViewPills::pill(const View& view) {
    const auto seat = figure::seat_of(view);
    const auto* place = &figure::place_at(seat.value());
    return *std::ranges::find_if(all_, [&](const Pill& pill) { return pill.place == place; })->button;
}

QMenu* ViewPills::preset_menu(const View& view) {
    const auto seat = figure::seat_of(view);
    const auto& place = figure::place_at(seat.value());
    presets_->clear();
    for (const figure::ViewPreset& preset : place.presets) {
        QAction* entry =
            presets_->addAction(QString::fromStdString(preset.title), this, [this, id = preset.view] { Q_EMIT view_asked(id); });
        const QString why = why_not(preset.view);
        entry->setEnabled(why.isEmpty());
        entry->setToolTip(why.isEmpty() ? QString::fromStdString(preset.view) : why);
        entry->setCheckable(true);
        entry->setChecked(preset.view == view_);
        entry->setData(QString::fromStdString(preset.view));
    }
    return presets_;
}

void ViewPills::show_presets(const Pill& pill) {
    if (pill.place->presets.size() < 2) return;
    preset_menu(pill.place->presets.front().view)->popup(pill.button->mapToGlobal(QPoint(0, pill.button->height() + 2)));
}

void ViewPills::set_view(const View& view) {
    view_ = view;
    if (const auto seat = figure::seat_of(view)) {
        last_of_question_[seat->question] = view;
        last_of_place_[&figure::place_at(*seat)] = view;
    }
    show_view();
}

std::size_t ViewPills::question_shown() const {
    const auto seat = figure::seat_of(view_);
    return seat ? seat->question : 0;
}

void ViewPills::show_view() {
    const auto seat = figure::seat_of(view_);
    const figure::ViewPlace* now = seat ? &figure::place_at(*seat) : nullptr;
    const auto questions = figure::view_questions();
    for (std::size_t q = 0; q < questions.size(); ++q) {
        QString why;
        if (view_of_question(q).empty()) why = reason_of(questions[q].places.back());
        const bool open = seat && seat->question == q;
        question_buttons_[q]->setChecked(open);
        question_buttons_[q]->setEnabled(why.isEmpty() || open);
        question_buttons_[q]->setToolTip(why.isEmpty() ? QStringLiteral("Alt+%1").arg(q + 1) : why);
        question_entries_[q]->setChecked(open);
        question_entries_[q]->setEnabled(why.isEmpty() || open);
        question_entries_[q]->setToolTip(why);
    }
    question_list_->setText(QString::fromStdString(questions[question_shown()].title));
    question_list_->setAccessibleName(question_list_->text());
    question_list_->setChecked(true);
    for (const Pill& pill : all_) {
        const bool open = pill.place == now, several = pill.place->presets.size() > 1;
        const QString title = QString::fromStdString(pill.place->title), why = reason_of(*pill.place);
        QString text = title;
        if (open && seat->preset > 0) {
            const QString preset = QString::fromStdString(pill.place->presets[seat->preset].title);
            text = QStringLiteral("%1: %2").arg(title, preset.left(1).toLower() + preset.mid(1));
        }
        pill.button->setText(without_mnemonic(text));
        pill.button->setChecked(open);
        pill.button->setEnabled(open || why.isEmpty());
        pill.button->setAccessibleName(QStringLiteral("%1 view").arg(text));
        pill.button->setIcon(open && several ? icon(QStringLiteral("chevron-down")) : QIcon());
        const QString key = pill.place->key ? QStringLiteral(" (%1)").arg(QLatin1Char(pill.place->key)) : QString();
        pill.button->setToolTip(!why.isEmpty() ? why
                                : several      ? QStringLiteral("%1%2; a right click lists its forms").arg(title, key)
                                               : title + key);
        pill.folded->setEnabled(why.isEmpty());
        pill.folded->setToolTip(why);
    }
    Q_EMIT shown();
}

int ViewPills::width_of_questions() const {
    int width = -question_gap;
    for (const QToolButton* tab : question_buttons_) width += tab->sizeHint().width() + question_gap;
    return width;
}

int ViewPills::width_of_pills() const {
    int width = folded_ ? question_list_->sizeHint().width() + pill_gap : 0;
    for (const Pill& pill : all_)
        if (pill.question == question_shown() && has(*pill.place)) width += pill.button->sizeHint().width() + pill_gap;
    return width;
}

void ViewPills::fold_questions(bool fold) {
    folded_ = fold;
    questions_->setVisible(!fold);
    question_list_->setVisible(fold);
}

void ViewPills::fit_pills(int width) {
    const auto seat = figure::seat_of(view_);
    const figure::ViewPlace* now = seat ? &figure::place_at(*seat) : nullptr;
    const auto wide = [](const QToolButton* of) { return of->sizeHint().width() + pill_gap; };
    const bool all_fit = width_of_pills() <= width;
    more_->setText(QStringLiteral("+9"));
    if (folded_) {  // the title of the question gives way to the open view
        const QString title = QString::fromStdString(figure::view_questions()[question_shown()].title);
        question_list_->setText(title);
        int least = wide(question_list_) + (all_fit ? 0 : wide(more_));
        for (const Pill& pill : all_)
            if (pill.place == now) least += wide(pill.button);
        const QFontMetrics metrics(figure::ui_font(13, QFont::DemiBold));
        if (least > width)
            question_list_->setText(
                metrics.elidedText(title, Qt::ElideRight, metrics.horizontalAdvance(title) - (least - width)));
    }
    int room = width - (folded_ ? wide(question_list_) : 0) - (all_fit ? 0 : wide(more_));
    for (const Pill& pill : all_)
        if (pill.place == now) room -= wide(pill.button);
    int hidden = 0;
    bool full = false;
    for (const Pill& pill : all_) {
        const bool there = pill.question == question_shown() && has(*pill.place);
        bool fits = there;
        if (there && pill.place != now) {
            full = full || wide(pill.button) > room;
            fits = !full;
            if (fits) room -= wide(pill.button);
        }
        pill.button->setVisible(fits);
        pill.folded->setVisible(there && !fits);
        hidden += there && !fits;
    }
    more_->setText(QStringLiteral("+%1").arg(hidden));
    more_->setAccessibleName(QStringLiteral("%1 more views of this question").arg(hidden));
    more_->setVisible(hidden > 0);
}

/// Arrows go from one to the next, and a right click lists presets.
bool ViewPills::eventFilter(QObject* watched, QEvent* event) {
    const auto of = std::ranges::find_if(all_, [&](const Pill& pill) { return pill.button == watched; });
    if (event->type() == QEvent::ContextMenu && of != all_.end() && of->place->presets.size() > 1) {
        show_presets(*of);
        return true;
    }
    if (event->type() != QEvent::KeyPress && event->type() != QEvent::ShortcutOverride) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    const int by = key->key() == Qt::Key_Right ? 1 : key->key() == Qt::Key_Left ? -1 : 0;
    if (by == 0) return false;
    event->accept();
    if (event->type() == QEvent::ShortcutOverride) return true;
    std::vector<QToolButton*> group;
    if (of != all_.end()) {
        for (const Pill& pill : all_)
            if (pill.button->isVisible() && pill.button->isEnabled()) group.push_back(pill.button);
    } else {
        for (QToolButton* tab : question_buttons_)
            if (tab->isEnabled()) group.push_back(tab);
    }
    const auto now = std::ranges::find(group, watched) - group.begin();
    if (now + by >= 0 && now + by < std::ssize(group)) group[static_cast<std::size_t>(now + by)]->setFocus();
    return true;
}

}  // namespace headlight::ui
