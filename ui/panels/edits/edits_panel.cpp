// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/edits/edits_panel.h"

#include "headlight/figure/core/number_text.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QScrollBar>
#include <QVBoxLayout>

namespace headlight::ui {

namespace {

constexpr int usual_height = 208;

QLabel* heading(const QString& text, const QString& tip) {
    QLabel* label = role_label("note", text);
    label->setFixedWidth(effect_width);
    label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    label->setToolTip(tip);
    return label;
}

}  // namespace

EditsPanel::EditsPanel(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      document_(document),
      effects_(jobs),
      title_(role_label("title", QStringLiteral("Edits"))),
      summary_(role_label("note")),
      alone_(heading(
          QStringLiteral("alone"),
          QStringLiteral(
              "Change of the watched number under this edit alone: the answer's log-probability, or its logit minus another token's"))),
      together_(heading(QStringLiteral("in order"), QStringLiteral("The same under this edit and those above it"))),
      empty_(wrapped_label("muted")),
      problem_(wrapped_label("note")),
      continued_(new QLabel),
      watch_(quiet_button(
          "chevron-down", QStringLiteral("Watched answer"),
          QStringLiteral(
              "The answer that the columns at the right are about: its log-probability, or its logit minus another token's"))),
      open_(quiet_button("folder", QStringLiteral("Open edits"),
                         QStringLiteral("Open a recipe: its edits take the place of these"))),
      save_(quiet_button("export", QStringLiteral("Save edits"), QStringLiteral("Save the edits as a recipe, one line an edit"))),
      popover_(new WatchPopover(document, jobs, this)),
      list_(new QWidget),
      area_(scroll_area(list_)),
      column_(new QVBoxLayout(list_)),
      mark_(new QFrame(list_)),
      adding_(new EditField(document)) {
    setObjectName(QStringLiteral("EditsPanel"));
    setAccessibleName(QStringLiteral("Edits"));
    setAttribute(Qt::WA_StyledBackground);
    auto* column = new_column(this, {0, 1, 0, 0}, 0);
    column->addWidget(make_header());
    problem_->setContentsMargins(16, 0, 16, 4);
    problem_->hide();
    column->addWidget(problem_);
    empty_->setFont(figure::ui_font(12.5));
    empty_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    empty_->setContentsMargins(16, 4, 16, 8);
    empty_->setText(QStringLiteral(
        "With edits the text runs a second time, beside itself: a head switched off, an attention weight knocked out or set, a neuron "
        "held at 0. A, B and B − A above the view show it before, after, and the difference (Space).\n"
        "Right-click a head, a weight, a token or a neuron in any view, or press E, and choose what to change; drag a weight up or down "
        "with Shift to set it; or type an edit below."));
    list_->setProperty("role", "clear");
    column_->setContentsMargins(0, 2, 0, 4);
    column_->setSpacing(0);
    column_->addWidget(empty_);
    column_->addStretch(1);
    mark_->setProperty("role", "drop");
    mark_->hide();
    column->addWidget(area_, 1);
    continued_->setWordWrap(true);
    continued_->setTextFormat(Qt::RichText);
    continued_->setFont(figure::ui_font(12));
    continued_->setContentsMargins(16, 4, 16, 4);
    continued_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    continued_->setAccessibleName(QStringLiteral("The text goes on"));
    continued_->hide();
    column->addWidget(continued_);
    auto* below = new_row(nullptr, {16, 2, 16, 8});
    adding_->setAccessibleName(QStringLiteral("Add an edit"));
    adding_->setPlaceholderText(QStringLiteral("Add an edit:  zero L2H3   scale L2H3 0.5   knockout L2H3 END<-4   zero L3N512"));
    adding_->installEventFilter(this);
    below->addWidget(adding_);
    column->addLayout(below);
    connect(adding_, &QLineEdit::returnPressed, this, &EditsPanel::add_typed);
    connect(&effects_, &EditEffects::changed, this, &EditsPanel::show_effects);
    connect(&document_, &Document::changed, this, [this](Document::Change change) {
        using enum Document::Change;
        if (change == options || change == other || change == trace || change == model) show_document();
        if (change == prompt) show_continued();
    });
    connect(&document_, &Document::continued, this, &EditsPanel::show_continued);
    connect(&Appearance::instance(), &Appearance::changed, this, [this] {
        show_effects();
        show_continued();
    });
    show_document();
}

QSize EditsPanel::sizeHint() const { return {QWidget::sizeHint().width(), usual_height}; }

QWidget* EditsPanel::make_header() {
    auto* header = new QWidget;
    auto* row = new_row(header, {16, 4, 8, 2}, 8);
    title_->setFont(figure::ui_font(13, QFont::DemiBold));
    auto* close = quiet_button("close", QStringLiteral("Close"), QStringLiteral("Close the panel; the edits stay"));
    connect(open_, &QToolButton::clicked, this, &EditsPanel::open_asked);
    connect(save_, &QToolButton::clicked, this, &EditsPanel::save_asked);
    connect(close, &QToolButton::clicked, this, &EditsPanel::close_asked);
    watch_->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    watch_->setLayoutDirection(Qt::RightToLeft);
    watch_->setIconSize({12, 12});
    connect(watch_, &QToolButton::clicked, this, [this] {
        const auto& run = document_.run_trace();
        if (!run) return;
        const auto& found = effects_.found();
        const bool at_end = found && !document_.edits().watched_at;
        popover_->open_below(watch_, at_end ? found->effects.position : Position(run->tokens() - 1));
    });
    for (QToolButton* button : {open_, save_, close}) button->setFixedWidth(edit_button_width);
    add_widgets(*row, {title_, summary_, open_, save_});
    row->addStretch(1);
    // Over the numbers of the lines: of which answer they are.
    add_widgets(*row, {watch_, alone_, together_, close});
    // Beside the scroll bar of the list its numbers stand further left.
    const QScrollBar* bar = area_->verticalScrollBar();
    connect(bar, &QScrollBar::rangeChanged, row, [row, bar](int least, int most) {
        row->setContentsMargins(16, 4, 8 + (most > least ? bar->sizeHint().width() : 0), 2);
    });
    return header;
}

void EditsPanel::choose_number(std::size_t line) {
    if (line >= rows_.size()) return;
    EditField& field = rows_[line]->field();
    const QString words = field.text();
    static const QRegularExpression quoted(QStringLiteral(R"re("((?:[^"\\]|\\.)*)")re")),
        number(QStringLiteral(R"re((?<= )-?[\d.]+(?= |$))re"));
    QRegularExpressionMatch last;
    const qsizetype at = words.lastIndexOf(number, -1, &last);
    field.setFocus();
    if (const auto text = quoted.match(words); text.hasMatch())
        field.setSelection(int(text.capturedStart(1)), int(text.capturedLength(1)));
    else if (at >= 0)
        field.setSelection(int(at), int(last.capturedLength()));
}

void EditsPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    show_document();
}

void EditsPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    look();
}

void EditsPanel::watch(bool on) {
    watched_ = on;
    look();
}

/// Effects cost runs: they are for whoever sees them.
void EditsPanel::look() {
    if (isVisible() || watched_)
        effects_.look(document_.edits(), document_.model(), document_.shown_prompt(),
                      document_.up_to_date() ? document_.run_trace() : nullptr);
    else
        effects_.look({}, {}, {}, nullptr);
}

void EditsPanel::show_document() {
    if (!isVisible()) return look();
    const auto& lines = document_.edits().lines;
    if (rows_.size() != lines.size()) make_rows();
    for (EditRow* row : rows_) row->show_line();
    std::size_t on = 0, problems = 0;
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (lines[i].on) ++(document_.problem_of_edit(i) ? problems : on);
    QString summary = lines.empty() ? QString() : QStringLiteral("%1 of %2 on").arg(on).arg(lines.size());
    if (problems > 0) summary += QStringLiteral(", %1 left out").arg(problems);
    summary_->setText(summary);
    empty_->setVisible(lines.empty());
    save_->setEnabled(!lines.empty());
    look();
    show_effects();
    show_continued();
}

/// The tokens that both generate, and from the first that differs on each its own.
void EditsPanel::show_continued() {
    const auto& both = document_.continued_under_edits();
    continued_->setVisible(both.has_value());
    if (!both) return;
    const figure::Theme& theme = Appearance::instance().theme();
    const auto html = [](const QString& text) { return text.toHtmlEscaped().replace(u'\n', QStringLiteral("⏎")); };
    const auto line = [&](const QString& name, const QString& token, const QString& rest) {
        return QStringLiteral("<span style=\"color:%1\">%2</span>&nbsp; %3<b style=\"color:%4\">%5</b>%6")
            .arg(theme.muted.name(), name, html(both->common), theme.accent.name(),
                 token.isEmpty() ? QStringLiteral("∎") : html(token), html(rest));
    };
    if (!both->note.isEmpty())
        continued_->setText(QStringLiteral("Not continued under the edits: %1").arg(both->note.toHtmlEscaped()));
    else if (both->same())
        continued_->setText(QStringLiteral("<span style=\"color:%1\">the same without and with the edits</span>&nbsp; %2")
                                .arg(theme.muted.name(), html(both->common)));
    else
        continued_->setText(line(QStringLiteral("without edits"), both->plain, both->plain_rest) + QStringLiteral("<br>") +
                            line(QStringLiteral("with edits"), both->edited, both->edited_rest));
}

void EditsPanel::make_rows() {
    const bool grows = rows_.size() < document_.edits().lines.size();
    for (EditRow* row : rows_) {
        row->hide();
        row->deleteLater();  // it may be what has just been clicked
    }
    rows_.clear();
    for (std::size_t i = 0; i < document_.edits().lines.size(); ++i) {
        auto* row = new EditRow(document_, i, list_);
        column_->insertWidget(column_->count() - 1, row);
        connect(row, &EditRow::dragged, this, [this, i](int y, bool dropped) { drag(i, y, dropped); });
        rows_.push_back(row);
        row->show();
    }
    if (!grows) return;
    // What was added is in sight.
    QMetaObject::invokeMethod(
        this, [this] { area_->verticalScrollBar()->setValue(area_->verticalScrollBar()->maximum()); }, Qt::QueuedConnection);
}

void EditsPanel::show_effects() {
    const bool any = !document_.edits().lines.empty();
    const auto& found = effects_.found();
    const auto& problem = effects_.problem();
    for (QWidget* of_effects : std::initializer_list<QWidget*>{watch_, alone_, together_}) of_effects->setVisible(any);
    const auto& run = document_.run_trace();
    watch_->setText(found ? QStringLiteral("%1 %2 %3: %4")
                                .arg(found->answer, run && !run->config().causal ? QStringLiteral("at") : QStringLiteral("after"),
                                     found->place, figure::value_text(watched_number(found->effects.unedited), 3))
                          : QStringLiteral("watched answer"));
    problem_->setText(problem ? QStringLiteral("No effects: %1").arg(sentence_of(*problem)) : QString());
    problem_->setVisible(problem.has_value());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const bool pending = !found && !problem && i < document_.edits().lines.size() && document_.edits().lines[i].on &&
                             !document_.problem_of_edit(i) && document_.run_trace();
        rows_[i]->show_line();
        rows_[i]->show_effect(found ? found->line(i) : nullptr, found ? found->effects.unedited : intervention::Prediction(),
                              pending);
    }
}

/// The line goes where it is let go: before the first whose middle is below the pointer.
void EditsPanel::drag(std::size_t line, int y, bool dropped) {
    std::size_t before = 0;
    while (before < rows_.size() && rows_[before]->geometry().center().y() < y) ++before;
    const bool moves = before != line && before != line + 1;
    mark_->setVisible(moves && !dropped);
    if (moves && !dropped) {
        const int at = before < rows_.size() ? rows_[before]->y() : rows_.back()->geometry().bottom() + 1;
        mark_->setGeometry(12, at - 1, list_->width() - 24, 2);
        mark_->raise();
    }
    if (moves && dropped) document_.move_edit(line, before > line ? before - 1 : before);
}

void EditsPanel::add_typed() {
    const QString words = adding_->text().trimmed();
    if (words.isEmpty()) return;
    adding_->set_words({});
    document_.add_edit(words);
}

bool EditsPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == adding_ && event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape &&
        !adding_->text().isEmpty()) {
        adding_->set_words({});
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace headlight::ui
