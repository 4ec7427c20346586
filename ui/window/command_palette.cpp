// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/command_palette.h"

#include "ui/style/appearance.h"

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
        const QString note = index.data(Qt::UserRole + 1).toString();
        painter->drawText(inner, Qt::AlignRight | Qt::AlignVCenter, note);
        const int room = inner.width() - painter->fontMetrics().horizontalAdvance(note) - 16;
        painter->setFont(figure::ui_font(13));
        painter->setPen(index.flags() & Qt::ItemIsEnabled ? theme.text : theme.faint);
        painter->drawText(inner, Qt::AlignLeft | Qt::AlignVCenter,
                          painter->fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, room));
        painter->restore();
    }
};

}  // namespace

int match_score(const QString& typed, const QString& text) {
    const qsizetype whole = text.indexOf(typed, 0, Qt::CaseInsensitive);
    if (whole >= 0) return int(whole);
    int score = 100;
    qsizetype from = 0;
    for (const QChar c : typed) {
        const qsizetype at = text.indexOf(c, from, Qt::CaseInsensitive);
        if (at < 0) return -1;
        score += int(at - from);
        from = at + 1;
    }
    return score;
}

CommandPalette::CommandPalette(const QString& hint, std::vector<PaletteItem> items, QWidget* parent)
    : QFrame(parent, Qt::Popup | Qt::FramelessWindowHint),
      items_(std::move(items)),
      field_(new QLineEdit),
      list_(new QListWidget) {
    setAttribute(Qt::WA_DeleteOnClose);
    setProperty("role", "popover");
    setAccessibleName(hint);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 8, 8, 8);
    column->setSpacing(6);
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

void CommandPalette::open() {
    const QWidget* over = parentWidget();
    const int width = std::min(560, over->width() - 64);
    setFixedSize(width, 440);
    move(over->mapToGlobal(QPoint((over->width() - width) / 2, 72)));
    show();
    field_->setFocus();
}

void CommandPalette::filter(const QString& typed) {
    std::vector<std::pair<int, std::size_t>> found;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const int score = match_score(typed.trimmed(), items_[i].text);
        if (score >= 0) found.emplace_back(score, i);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (found.size() > 500) found.resize(500);
    list_->clear();
    for (const auto& [score, i] : found) {
        auto* item = new QListWidgetItem(items_[i].text, list_);
        item->setData(Qt::UserRole, qulonglong(i));
        item->setData(Qt::UserRole + 1, items_[i].note);
        if (!items_[i].enabled) item->setFlags(item->flags() & ~Qt::ItemIsEnabled);
    }
    list_->setCurrentRow(0);
}

void CommandPalette::choose() {
    const QListWidgetItem* item = list_->currentItem();
    if (!item || !(item->flags() & Qt::ItemIsEnabled)) return;
    const auto chosen = items_[item->data(Qt::UserRole).toULongLong()].chosen;
    close();
    if (chosen) chosen();
}

bool CommandPalette::eventFilter(QObject*, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return false;
    const auto* key = static_cast<QKeyEvent*>(event);
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
