// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/tour.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"
#include "ui/window/main_window.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QShortcut>
#include <QToolButton>
#include <QVBoxLayout>

namespace headlight::ui {

PartFrame::PartFrame(QWidget& window) : QWidget(&window) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
}

void PartFrame::surround(const QWidget& part) {
    setGeometry(QRect(part.mapTo(parentWidget(), QPoint(0, 0)), part.size()));
    show();
    raise();
}

void PartFrame::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(Appearance::instance().theme().accent, 2));
    painter.drawRoundedRect(QRectF(rect()).adjusted(2, 2, -2, -2), 6, 6);
}

TourOffer::TourOffer(MainWindow& window) : QFrame(&window), yes_(new QPushButton(QStringLiteral("Take the tour"))) {
    setObjectName(QStringLiteral("TourOffer"));
    setProperty("role", "popover");
    setAccessibleName(QStringLiteral("Offer of a tour"));
    setAttribute(Qt::WA_StyledBackground);
    setAttribute(Qt::WA_DeleteOnClose);
    auto* row = new_row(this, {16, 12, 12, 12}, 10);
    auto* no = new QPushButton(QStringLiteral("Not now"));
    yes_->setProperty("kind", "primary");
    row->addWidget(new QLabel(QStringLiteral("New here? Six short steps show what is where.")));
    row->addWidget(no);
    row->addWidget(yes_);
    connect(no, &QPushButton::clicked, this, &QWidget::close);
    connect(yes_, &QPushButton::clicked, &window, [&window, this] {
        close();
        window.action(Command::tour).trigger();
    });
    // It goes when one begins to work: it covers a part of the view.
    connect(&window.document(), &Document::changed, this, [this](Document::Change change) {
        if (change == Document::Change::prompt || change == Document::Change::views) close();
    });
    connect(&window.document().selection(), &SelectionModel::changed, this, [this, &window](bool hover_only) {
        if (!hover_only && !window.document().adapting()) close();
    });
    window.installEventFilter(this);
    place();
    show();
    raise();
}

/// At the lower edge, above the status.
void TourOffer::place() {
    adjustSize();
    move((parentWidget()->width() - width()) / 2, parentWidget()->height() - height() - 44);
}

bool TourOffer::eventFilter(QObject*, QEvent* event) {
    if (event->type() == QEvent::Resize) place();
    return false;
}

Tour::Tour(MainWindow& window)
    : QFrame(&window),
      window_(window),
      frame_(new PartFrame(window)),
      before_(window.document().views()),
      title_(new QLabel),
      text_(new QLabel),
      count_(role_label("note")),
      back_(new QPushButton(QStringLiteral("Back"))),
      next_(new QPushButton(QStringLiteral("Next"))) {
    setObjectName(QStringLiteral("Tour"));
    setProperty("role", "popover");
    setAccessibleName(QStringLiteral("Tour"));
    setAttribute(Qt::WA_StyledBackground);
    const auto view = [&window](const View& v) {
        return [&window, v] {
            OpenViews views = window.document().views();
            views.left = v;
            views.split = false;
            window.document().set_views(views);
        };
    };
    steps_ = {
        {QStringLiteral("Pages, and a text"),
         QStringLiteral(
             "Text, Corpus, Map, Sweep and Model share one model, head and pins. Type a sentence: the model reads it as you type; the chips below are its tokens."),
         &window.prompt_bar(),
         Side::below,
         {}},
        {QStringLiteral("Every head at once"),
         QStringLiteral(
             "Rows are layers, columns are heads, the tint is a measure you choose. Click a square to see that head. Below, find heads: induction > 0.3 and entropy < 1."),
         &window.heads_panel(),
         Side::right,
         {}},
        {QStringLiteral("Five questions"),
         QStringLiteral(
             "Under each question stand its views. A right click on a pill, or a click on the open one, lists its other forms. Alt+1 … 5 open a question, 1 … 9 a view."),
         &window.tool_row(), Side::below, view("head")},
        {QStringLiteral("What a view is about"),
         QStringLiteral(
             "Chips name token, answer and what it is compared with: click one to choose another, × takes it back. They hold for every view. Options is only how it looks."),
         &window.tool_row(), Side::below, view("attribution")},
        {QStringLiteral("What changes, and what if"),
         QStringLiteral(
             "Compare puts a second text or model next to this one; Edit switches heads off or sets weights. Then A, B, A+B and B − A show every view of both (Space)."),
         &window.prompt_bar(), Side::below, view("head")},
        {QStringLiteral("Numbers, and out of the window"),
         QStringLiteral(
             "The inspector holds the chain behind the pinned pair; click a number to copy it. Ctrl+E exports the figure, Ctrl+K finds every command."),
         &window.inspector(), Side::left, view("head")},
    };
    title_->setFont(figure::ui_font(14, QFont::DemiBold));
    text_->setWordWrap(true);
    text_->setFixedWidth(252);  // the card is no wider than the inspector
    auto* column = new_column(this, {16, 14, 16, 14}, 8);
    auto* top = new QHBoxLayout;
    QToolButton* close = quiet_button("close", QStringLiteral("Close the tour"), QStringLiteral("Close the tour (Esc)"));
    title_->setWordWrap(true);
    top->addWidget(title_, 1);
    top->addWidget(close, 0, Qt::AlignTop);
    column->addLayout(top);
    column->addWidget(text_);
    auto* row = new QHBoxLayout;
    next_->setProperty("kind", "primary");
    row->addWidget(count_);
    row->addStretch();
    row->addWidget(back_);
    row->addWidget(next_);
    column->addLayout(row);
    connect(close, &QToolButton::clicked, this, &Tour::end);
    // Wherever the focus is: a view that was opened for a step takes it.
    connect(new QShortcut(QKeySequence(Qt::Key_Escape), this), &QShortcut::activated, this, &Tour::end);
    connect(back_, &QPushButton::clicked, this, [this] { show_step(step_ - 1); });
    connect(next_, &QPushButton::clicked, this, [this] {
        if (step_ + 1 == steps()) {
            end();
        } else {
            show_step(step_ + 1);
        }
    });
    window_.installEventFilter(this);
}

void Tour::start() {
    for (TourOffer* offer : window_.findChildren<TourOffer*>()) offer->close();
    const figure::Selection& s = window_.document().selection().get();
    selected_before_ = without_hover(s);
    if (s.pinned_queries.empty() || s.pinned_keys.empty()) window_.document().show_interesting();  // three steps are about a pair
    selected_ = without_hover(s);
    show_step(0);
    show();
    raise();
    next_->setFocus();
}

void Tour::end() {
    window_.removeEventFilter(this);
    hide();
    delete frame_;
    frame_ = nullptr;
    // Whoever has pinned or chosen something else meanwhile keeps it.
    SelectionModel& selection = window_.document().selection();
    figure::Selection now = without_hover(selection.get());
    if (now == selected_) {
        selection.set(selected_before_);
    } else if (now.pinned_queries == selected_.pinned_queries && now.pinned_keys == selected_.pinned_keys) {
        now.pinned_queries = selected_before_.pinned_queries;
        now.pinned_keys = selected_before_.pinned_keys;
        now.found_pins = selected_before_.found_pins;
        selection.set(now);
    }
    window_.document().set_views(before_);
    window_.active_pane().canvas().setFocus();
    deleteLater();
}

void Tour::show_step(int step) {
    step_ = std::clamp(step, 0, steps() - 1);
    const Step& now = steps_[std::size_t(step_)];
    if (now.prepare) now.prepare();
    title_->setText(now.title);
    text_->setText(now.text);
    count_->setText(QStringLiteral("%1 of %2").arg(step_ + 1).arg(steps()));
    back_->setEnabled(step_ > 0);
    next_->setText(step_ + 1 == steps() ? QStringLiteral("Done") : QStringLiteral("Next"));
    place();
    raise();
    next_->setFocus();
}

void Tour::keyPressEvent(QKeyEvent* event) {
    if (event->key() != Qt::Key_Return && event->key() != Qt::Key_Enter) return QFrame::keyPressEvent(event);
    auto* focused = qobject_cast<QPushButton*>(window_.focusWidget());
    (focused && isAncestorOf(focused) ? focused : next_)->click();
}

void Tour::place() {
    adjustSize();
    const Step& now = steps_[std::size_t(step_)];
    const QRect part(now.part->mapTo(&window_, QPoint(0, 0)), now.part->size());
    frame_->surround(*now.part);
    raise();
    QPoint at;
    // Beside a view where there is something beside it: its squares, tabs and legend are what the step is about.
    const bool room_beside = window_.width() - part.right() > 180;
    switch (now.side) {
        case Side::below: at = QPoint(part.left() + 166, part.bottom() + 8); break;
        case Side::right: at = QPoint(part.right() + 12, part.top() + 32); break;
        case Side::left: at = QPoint(part.left() - width() - 12, part.top() + 32); break;
        case Side::over:
            at = QPoint(room_beside ? window_.width() - width() - 8 : part.right() - width() - 24, part.bottom() - height() - 24);
            break;
    }
    move(std::clamp(at.x(), 8, std::max(8, window_.width() - width() - 8)),
         std::clamp(at.y(), 8, std::max(8, window_.height() - height() - 8)));
}

bool Tour::eventFilter(QObject*, QEvent* event) {
    if (event->type() == QEvent::Resize && frame_) place();
    return false;
}

}  // namespace headlight::ui
