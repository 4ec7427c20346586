// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/command_palette.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace headlight::ui {

namespace {

class RowDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {200, 32}; }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const figure::Theme& theme = Appearance::instance().theme();
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        if (option.state & QStyle::State_Selected) {
            painter->setPen(Qt::NoPen);
            painter->setBrush(theme.accent_soft);
            painter->drawRoundedRect(QRectF(option.rect).adjusted(4, 1, -4, -1), 5, 5);
        }
        const QRect inner = option.rect.adjusted(14, 0, -14, 0);
        painter->setFont(figure::ui_font(12));
        painter->setPen(theme.muted);
        // The name goes first: a long note, such as why a command cannot work now, gets what it leaves.
        const QString note = index.data(Qt::UserRole + 1).toString(), name = index.data().toString();
        const QFontMetrics notes(figure::ui_font(12)), names(figure::ui_font(13));
        constexpr int gap = 16, least_note = 120;
        const int whole_note = notes.horizontalAdvance(note);
        const int name_room = inner.width() - (note.isEmpty() ? 0 : std::min(whole_note, least_note) + gap);
        const QString shown_name = names.elidedText(name, Qt::ElideRight, name_room);
        const int note_room = inner.width() - names.horizontalAdvance(shown_name) - gap;
        painter->drawText(inner, Qt::AlignRight | Qt::AlignVCenter, notes.elidedText(note, Qt::ElideRight, note_room));
        painter->setFont(figure::ui_font(13));
        painter->setPen(index.flags() & Qt::ItemIsEnabled ? theme.text : theme.faint);
        painter->drawText(inner, Qt::AlignLeft | Qt::AlignVCenter, shown_name);
        painter->restore();
    }
};

}  // namespace

int match_score(const QString& typed, const QString& text, bool loose) {
    if (typed.isEmpty()) return 0;
    constexpr int at_word = 20, inside = 200, by_words = 400, by_letters = 600;
    const auto begins_word = [&](qsizetype at) { return at == 0 || !text[at - 1].isLetterOrNumber(); };
    for (qsizetype at = text.indexOf(typed, 0, Qt::CaseInsensitive); at >= 0;
         at = text.indexOf(typed, at + 1, Qt::CaseInsensitive))
        if (begins_word(at)) return at == 0 ? int(text.size() > typed.size()) : at_word + int(at);
    if (const qsizetype at = text.indexOf(typed, 0, Qt::CaseInsensitive); at >= 0) return inside + int(at);
    const QStringList words = typed.split(u' ', Qt::SkipEmptyParts);
    if (words.size() > 1 && std::ranges::all_of(words, [&](const QString& w) { return text.contains(w, Qt::CaseInsensitive); }))
        return by_words;
    if (!loose) return -1;
    int score = by_letters;
    qsizetype from = 0;
    for (const QChar c : typed) {
        const qsizetype at = text.indexOf(c, from, Qt::CaseInsensitive);
        if (at < 0) return -1;
        score += int(at - from);
        from = at + 1;
    }
    return score;
}

CommandPalette::CommandPalette(const QString& hint, std::vector<PaletteItem> items, QWidget* parent, Meaning meaning)
    : QFrame(parent, Qt::Popup | Qt::FramelessWindowHint),
      items_(std::move(items)),
      meaning_(std::move(meaning)),
      field_(new QLineEdit),
      list_(new QListWidget) {
    setAttribute(Qt::WA_DeleteOnClose);
    setProperty("role", "popover");
    setAccessibleName(hint);
    auto* column = new_column(this, {8, 8, 8, 8}, 6);
    field_->setPlaceholderText(hint);
    field_->setAccessibleName(hint);
    list_->setAccessibleName(QStringLiteral("Matches"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setItemDelegate(new RowDelegate(list_));
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    column->addWidget(field_);
    column->addWidget(list_);
    field_->installEventFilter(this);
    connect(field_, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(list_, &QListWidget::itemClicked, this, &CommandPalette::choose);
    filter({});
}

void CommandPalette::open(const QWidget* below) {
    const QWidget* over = parentWidget();
    const int width = std::clamp(over->width() - 64, 200, 560);  // wider than a tiny window: it is one of its own
    setFixedSize(width, 440);
    if (below && below->isVisible() && below->width() > 100)
        move(below->mapToGlobal(QPoint(below->width() - width, 0)));
    else
        move(over->mapToGlobal(QPoint((over->width() - width) / 2, 72)));
    show();
    field_->setFocus();
}

void CommandPalette::filter(const QString& text) {
    const QString typed = text.trimmed();
    std::vector<std::pair<int, PaletteItem>> found;
    if (meaning_ && !typed.isEmpty())
        for (PaletteItem& item : meaning_(typed)) found.emplace_back(item.rank, std::move(item));
    for (const PaletteItem& item : items_)
        if (item.only_unasked && !typed.isEmpty())
            continue;
        else if (const int score = match_score(typed, item.text, item.loose); score >= 0)
            found.emplace_back(score, item);
        else if (const int by_keyword = match_score(typed, item.keyword, false); by_keyword >= 0)
            found.emplace_back(by_keyword, item);
    std::ranges::stable_sort(found, {}, &std::pair<int, PaletteItem>::first);
    if (found.size() > 500) found.resize(500);
    shown_.clear();
    for (auto& [score, item] : found) shown_.push_back(std::move(item));
    list_->clear();
    for (std::size_t i = 0; i < shown_.size(); ++i) {
        auto* item = new QListWidgetItem(shown_[i].text, list_);
        item->setData(Qt::UserRole, qulonglong(i));
        item->setData(Qt::UserRole + 1, shown_[i].note);
        item->setToolTip(shown_[i].note);
        item->setData(Qt::AccessibleTextRole,
                      shown_[i].note.isEmpty() ? shown_[i].text : shown_[i].text + QStringLiteral(", ") + shown_[i].note);
        if (!shown_[i].enabled) item->setFlags(item->flags() & ~Qt::ItemIsEnabled);
    }
    if (shown_.empty()) (new QListWidgetItem(QStringLiteral("Nothing matches “%1”").arg(typed), list_))->setFlags({});
    list_->setCurrentRow(0);
}

void CommandPalette::choose() {
    const QListWidgetItem* item = list_->currentItem();
    if (!item || !(item->flags() & Qt::ItemIsEnabled)) return;
    const auto chosen = shown_[item->data(Qt::UserRole).toULongLong()].chosen;
    close();
    if (chosen) chosen();
}

bool CommandPalette::eventFilter(QObject*, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
    if (key->keyCombination() == (Qt::CTRL | Qt::Key_K)) return close();  // what opened it closes it
    const int row = list_->currentRow(), last = list_->count() - 1;
    switch (key->key()) {
        case Qt::Key_Down: list_->setCurrentRow(std::min(row + 1, last)); return true;
        case Qt::Key_Up: list_->setCurrentRow(std::max(row - 1, 0)); return true;
        case Qt::Key_PageDown: list_->setCurrentRow(std::min(row + 10, last)); return true;
        case Qt::Key_PageUp: list_->setCurrentRow(std::max(row - 10, 0)); return true;
        case Qt::Key_Return:
        case Qt::Key_Enter: choose(); return true;
        default: return false;
    }
}

}  // namespace headlight::ui
