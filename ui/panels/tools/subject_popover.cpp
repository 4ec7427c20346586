// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/subject_popover.h"

#include "ui/canvas/recipe.h"
#include "ui/style/appearance.h"
#include "ui/style/token_field.h"
#include "ui/style/widgets.h"

#include "headlight/analyze/why/why.h"
#include "headlight/model/outline.h"

#include <QKeyEvent>
#include <QPainter>
#include <QRegularExpression>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace headlight::ui {

namespace {

constexpr int value_role = Qt::UserRole, right_role = Qt::UserRole + 1;
constexpr int popover_width = 296, row_height = 24, most_rows = 12;

/// What it is at the left, a number about it at the right.
class CandidateRow : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {200, row_height}; }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const figure::Theme& theme = Appearance::instance().theme();
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        if (option.state & (QStyle::State_Selected | QStyle::State_MouseOver)) {
            painter->setPen(Qt::NoPen);
            painter->setBrush(option.state & QStyle::State_Selected ? theme.accent_soft : theme.chip);
            painter->drawRoundedRect(QRectF(option.rect).adjusted(0, 0, -1, 0), 4, 4);
        }
        const QRect inner = option.rect.adjusted(8, 0, -8, 0);
        painter->setPen(theme.muted);
        painter->setFont(figure::ui_font(12));
        const QString right = index.data(right_role).toString();
        painter->drawText(inner, Qt::AlignRight | Qt::AlignVCenter, right);
        painter->setPen(theme.text);
        const int room = inner.width() - painter->fontMetrics().horizontalAdvance(right) - 12;
        painter->drawText(inner, Qt::AlignLeft | Qt::AlignVCenter,
                          painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, room));
        painter->restore();
    }
};

bool is_token(Subject subject) { return subject == Subject::answer || subject == Subject::contrast; }

QString placeholder(Subject subject) {
    switch (subject) {
        case Subject::at:
        case Subject::to: return QStringLiteral("Token or position");
        case Subject::answer:
        case Subject::contrast: return QStringLiteral("Token, with or without its space");
        case Subject::neuron: return QStringLiteral("Layer and neuron: L3N544");
        case Subject::passage: return QStringLiteral("120-140, or words of the text");
        case Subject::against: return QStringLiteral("row, no sinks, token or position");
    }
    return {};
}

}  // namespace

SubjectPopover::SubjectPopover(Document& document, Jobs& jobs, QWidget* parent)
    : Popover(parent), document_(document), candidates_(jobs) {
    new_column(this, {0, 0, 0, 0});
    connect(&candidates_, &TokenCandidates::arrived, this, [this] {
        if (body_ && is_token(subject_)) fill();
    });
}

void SubjectPopover::open_below(QWidget* chip, const View& view, Subject subject) {
    view_ = view;
    subject_ = subject;
    setAccessibleName(QStringLiteral("Choose “%1”").arg(subject_word(subject)));
    if (is_token(subject) && document_.trace()) {
        const figure::ViewSpec& spec = figure::view_spec(view);
        const Recipe recipe = recipe_for(document_, view, document_.selection().get());
        const auto& trace = document_.trace()->across_texts() ? document_.run_trace() : document_.trace();
        candidates_.look(trace, figure::head_position(*trace, spec, recipe.state.query));
    }
    build();
    show_below(chip);
    field_->setFocus();
    field_->selectAll();
}

/// Keeps no run in memory, nor the files of its model open.
void SubjectPopover::hideEvent(QHideEvent* event) {
    Popover::hideEvent(event);
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (!isVisible()) candidates_.clear();
        },
        Qt::QueuedConnection);
}

void SubjectPopover::build_field(const QString& value) {
    if (is_token(subject_)) {
        const figure::ViewOption* option = option_of(figure::view_spec(view_), subject_);
        token_ = new TokenField(candidates_, value, option->next ? TokenField::Holds::target : TokenField::Holds::one);
        field_ = &token_->line();
        field_->setCompleter(nullptr);  // the list below is always in sight
        connect(token_, &TokenField::chosen, this, [this](const QString& token) {
            document_.edit_options([&](ViewOptions& o) { set_subject(o, subject_, token.toStdString()); });
        });
    } else {
        field_ = new QLineEdit(value);
    }
    field_->setPlaceholderText(placeholder(subject_));
    field_->setAccessibleName(placeholder(subject_));
}

void SubjectPopover::build() {
    delete body_;
    body_ = new QWidget;
    body_->setProperty("role", "clear");
    token_ = nullptr;
    auto* column = new_column(body_, {12, 12, 12, 10}, 8);
    const figure::ViewSpec& spec = figure::view_spec(view_);
    const figure::ViewOption* option = option_of(spec, subject_);
    QString value = option ? QString::fromStdString(view_value(document_.options(), view_, *option)) : QString();
    if (const auto& neuron = document_.selection().get().neuron; subject_ == Subject::neuron && neuron)
        value = QStringLiteral("L%1N%2").arg(neuron->layer.value).arg(neuron->neuron.value);
    build_field(value);
    column->addWidget(token_ ? static_cast<QWidget*>(token_) : field_);
    note_ = wrapped_label("note");
    column->addWidget(note_);
    note_->hide();
    list_ = new QListWidget;
    list_->setFrameShape(QFrame::NoFrame);
    list_->setAccessibleName(QStringLiteral("Candidates"));
    list_->setItemDelegate(new CandidateRow(list_));
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setMouseTracking(true);
    list_->setUniformItemSizes(true);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    column->addWidget(list_);
    lock_ = new RingToggle(QStringLiteral("Keep for other texts"),
                           QStringLiteral("Otherwise another text takes answer and contrast away"));
    lock_->setChecked(document_.options().answer_kept);
    lock_->setVisible(is_token(subject_));
    connect(lock_, &RingToggle::clicked, this,
            [this](bool on) { document_.edit_options([on](ViewOptions& o) { o.answer_kept = on; }); });
    column->addWidget(lock_);
    connect(list_, &QListWidget::itemClicked, this,
            [this](const QListWidgetItem* item) { take(item->data(value_role).toString()); });
    connect(field_, &QLineEdit::textEdited, this, &SubjectPopover::narrow);
    connect(field_, &QLineEdit::returnPressed, this, &SubjectPopover::take_typed);
    field_->installEventFilter(this);
    layout()->addWidget(body_);
    body_->setFixedWidth(popover_width);
    fill();
}

void SubjectPopover::add(const QString& text, const QString& right, const QString& value) {
    auto* item = new QListWidgetItem(text, list_);
    item->setData(value_role, value);
    item->setData(right_role, right);
    item->setData(Qt::AccessibleTextRole, right.isEmpty() ? text : QStringLiteral("%1, %2").arg(text, right));
}

void SubjectPopover::add_tokens(const std::vector<text::TokenLabel>& labels, std::int64_t end) {
    for (std::int64_t i = 0; i < std::min(end, std::ssize(labels)); ++i) {
        const text::TokenLabel& label = labels[static_cast<std::size_t>(i)];
        add(QString::fromStdString(label.continuation + label.text), QString::number(i), QString::number(i));
    }
}

/// Those that the pinned query may attend to.
void SubjectPopover::add_keys(const trace::Trace& trace) {
    const bool causal = trace.config().causal && !trace.across_texts();
    const auto& pins = document_.selection().get().pinned_queries;
    add_tokens(trace.key_labels(), causal && !pins.empty() ? pins.back().value + 1 : trace.keys());
}

void SubjectPopover::fill() {
    list_->clear();
    const auto& trace = document_.trace();
    if (subject_ == Subject::at && trace) {
        add(QStringLiteral("last"), QString::number(trace->tokens() - 1), QString::number(trace->tokens() - 1));
        add_tokens(trace->labels(), trace->tokens());
    } else if (subject_ == Subject::to && trace) {
        add_keys(*trace);
    } else if (is_token(subject_)) {
        const figure::ViewOption* option = option_of(figure::view_spec(view_), subject_);
        add(subject_ == Subject::contrast ? QStringLiteral("none") : QStringLiteral("likeliest"), {}, {});
        if (option && option->next) add(QStringLiteral("next in the text"), {}, QStringLiteral("next"));
        int rank = 0;
        for (const TokenReading::Entry& entry : candidates_.likeliest())
            add(entry.label, QStringLiteral("%1    %2").arg(++rank).arg(entry.chance), entry.typed);
    } else if (subject_ == Subject::neuron) {
        add(QStringLiteral("strongest"), {}, {});
    } else if (subject_ == Subject::passage) {
        add(QStringLiteral("paragraph of the key"), {}, {});
    } else if (subject_ == Subject::against && trace) {
        add(QStringLiteral("the others, without sinks that hold most"), {}, {});
        for (const auto& row : analyze::against_rows)
            if (row.value != analyze::Against::key) add(QString::fromUtf8(row.title), {}, QString::fromUtf8(row.word));
        add_keys(*trace);
    }
    narrow(field_->isModified() ? field_->text() : QString());
}

/// Rows that do not have what is typed are hidden; numbers are positions.
void SubjectPopover::narrow(const QString& typed) {
    const QString wanted = typed.trimmed();
    int shown = 0;
    QListWidgetItem* first = nullptr;
    for (int i = 0; i < list_->count(); ++i) {
        QListWidgetItem* item = list_->item(i);
        const QString text = QString(item->text()).remove(u'·');
        const bool fits = wanted.isEmpty() || text.contains(wanted, Qt::CaseInsensitive) ||
                          (!is_token(subject_) && item->data(value_role).toString() == wanted);
        item->setHidden(!fits);
        if (fits && !first && !item->data(value_role).toString().isEmpty()) first = item;  // words of the text come first
        shown += fits;
    }
    list_->setCurrentItem(wanted.isEmpty() || is_token(subject_) ? nullptr : first);
    list_->setFixedHeight(std::clamp(shown, 0, most_rows) * row_height + (shown > 0 ? 2 : 0));
    list_->setVisible(shown > 0);
    body_->adjustSize();
    adjustSize();
}

void SubjectPopover::take_typed() {
    if (QListWidgetItem* chosen = list_->currentItem(); chosen && !chosen->isHidden())
        return take(chosen->data(value_role).toString());
    if (token_) {  // the field has taken it
        if (token_->note().text().isEmpty() || !candidates_.read(field_->text()).taken.empty()) close();
        return;
    }
    take(field_->text().trimmed());
}

void SubjectPopover::take(const QString& value) {
    SelectionModel& selection = document_.selection();
    figure::Selection next = selection.get();
    const auto refuse = [this](const QString& why) {
        note_->setText(why);
        note_->show();
        adjustSize();
    };
    const auto set = [&] { document_.edit_options([&](ViewOptions& o) { set_subject(o, subject_, value.toStdString()); }); };
    switch (subject_) {
        case Subject::at:
        case Subject::to: {
            bool is_number = false;
            const std::int64_t at = value.toLongLong(&is_number);
            const auto& trace = document_.trace();
            const std::int64_t end = !trace ? 0 : subject_ == Subject::at ? trace->tokens() : trace->keys();
            if (!is_number || at < 0 || at >= end)
                return refuse(QStringLiteral("No such token; positions are 0 to %1").arg(end - 1));
            (subject_ == Subject::at ? next.pinned_queries : next.pinned_keys).assign(1, Position(at));
            next.found_pins = false;
            selection.set(next);
            break;
        }
        case Subject::answer:
        case Subject::contrast:
        case Subject::passage: set(); break;
        case Subject::against: {
            const auto word = enum_value<analyze::Against>(value.toStdString());
            const std::int64_t keys = document_.trace() ? document_.trace()->keys() : 0;
            bool is_number = false;
            const std::int64_t key = value.toLongLong(&is_number);
            const bool known = value.isEmpty() || (word && *word != analyze::Against::key);
            if (!known && (!is_number || key < 0 || key >= keys))
                return refuse(QStringLiteral("Row, no sinks, or the position of a key: 0 to %1").arg(keys - 1));
            set();
            break;
        }
        case Subject::neuron: {
            static const QRegularExpression name(QStringLiteral("^[lL]?(\\d+)\\s*[nN.]\\s*(\\d+)$"));
            const auto match = name.match(value);
            if (value.isEmpty()) {
                next.neuron.reset();
                selection.set(next);
                break;
            }
            const auto& model = document_.model().model;
            const std::int64_t layer = match.captured(1).toLongLong(), neuron = match.captured(2).toLongLong();
            if (!match.hasMatch() || !model || layer >= selection.layers() || neuron >= model::mlp_width(model->config(), layer))
                return refuse(
                    QStringLiteral("No such neuron; write it as L%1N0").arg(std::max<std::int64_t>(0, selection.layers() - 1)));
            selection.follow_neuron({Layer(layer), Neuron(neuron)});
            break;
        }
    }
    close();
}

/// Arrows go through the list; the field keeps the focus.
bool SubjectPopover::eventFilter(QObject*, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return false;
    const int key = static_cast<const QKeyEvent*>(event)->key();
    if (key != Qt::Key_Down && key != Qt::Key_Up) return false;
    const int by = key == Qt::Key_Down ? 1 : -1;
    int row = list_->currentItem() ? list_->currentRow() : (by > 0 ? -1 : list_->count());
    do row += by;
    while (row >= 0 && row < list_->count() && list_->item(row)->isHidden());
    if (row >= 0 && row < list_->count()) list_->setCurrentRow(row);
    return true;
}

}  // namespace headlight::ui
