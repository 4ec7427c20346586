// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tools/token_field.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QKeyEvent>
#include <QPainter>
#include <QStandardItemModel>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

namespace headlight::ui {

namespace {

constexpr int chance_role = Qt::UserRole + 1, label_role = Qt::UserRole + 2;

/// The token, and its probability at the right.
class CandidateDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {220, 24}; }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const figure::Theme& theme = Appearance::instance().theme();
        painter->save();
        painter->fillRect(option.rect, option.state & QStyle::State_Selected ? theme.accent_soft : theme.canvas);
        const QRect inner = option.rect.adjusted(8, 0, -10, 0);
        painter->setFont(figure::ui_font(13));
        painter->setPen(theme.text);
        painter->drawText(inner, Qt::AlignLeft | Qt::AlignVCenter, index.data(label_role).toString());
        painter->setFont(figure::ui_font(12));
        painter->setPen(theme.muted);
        painter->drawText(inner, Qt::AlignRight | Qt::AlignVCenter, index.data(chance_role).toString());
        painter->restore();
    }
};

}  // namespace

TokenField::TokenField(const TokenCandidates& candidates, const QString& value, QWidget* parent)
    : QWidget(parent),
      candidates_(candidates),
      line_(new QLineEdit(value)),
      note_(wrapped_label("note")),
      completer_(new QCompleter(this)),
      offered_(new QStandardItemModel(this)),
      committed_(value) {
    auto* column = new_column(this, {0, 0, 0, 0}, 3);
    line_->setPlaceholderText(QStringLiteral("Text or id, ↓ for the likeliest"));
    note_->setTextFormat(Qt::RichText);
    // By mouse alone: Tab goes to the next field, and with the keyboard one types the other spelling.
    note_->setTextInteractionFlags(Qt::LinksAccessibleByMouse);
    note_->hide();
    column->addWidget(line_);
    column->addWidget(note_);
    setFocusProxy(line_);
    completer_->setModel(offered_);
    completer_->setCompletionRole(Qt::EditRole);
    completer_->setCaseSensitivity(Qt::CaseInsensitive);
    completer_->setFilterMode(Qt::MatchContains);
    completer_->setMaxVisibleItems(10);
    line_->setCompleter(completer_);
    completer_->popup()->setObjectName(QStringLiteral("Completions"));  // it has a ground of its own
    completer_->popup()->setItemDelegate(new CandidateDelegate(completer_->popup()));
    line_->installEventFilter(this);
    connect(line_, &QLineEdit::textChanged, this, &TokenField::read);
    connect(line_, &QLineEdit::editingFinished, this, &TokenField::commit);
    connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, &TokenField::commit, Qt::QueuedConnection);
    connect(note_, &QLabel::linkActivated, this, [this](const QString& token) {
        line_->setText(token);
        commit();
        line_->setFocus();
    });
    connect(&candidates_, &TokenCandidates::arrived, this, [this] {
        offer();
        read();
    });
    offer();
    read();
}

void TokenField::offer() {
    offered_->clear();
    for (const TokenReading::Entry& e : candidates_.likeliest()) {
        auto* item = new QStandardItem(e.typed);
        item->setData(e.label, label_role);
        item->setData(e.chance, chance_role);
        item->setData(QStringLiteral("%1, %2").arg(e.label, e.chance), Qt::AccessibleTextRole);
        offered_->appendRow(item);
    }
}

/// What the text means so far; other spellings are links.
void TokenField::read() {
    const TokenReading found = candidates_.read(line_->text());
    QString note = found.note.toHtmlEscaped();
    for (const TokenReading::Entry& e : found.other) {
        const QString name = QStringLiteral("%1 (%2)").arg(e.label.toHtmlEscaped()).arg(e.id);
        note.replace(note.lastIndexOf(name), name.size(),
                     QStringLiteral("<a href=\"%1\">%2</a>").arg(e.typed.toHtmlEscaped(), name));
    }
    note_->setText(note);
    note_->setVisible(!note.isEmpty());
}

void TokenField::commit() {
    const QString text = line_->text();
    if (text == committed_ || (!text.isEmpty() && candidates_.read(text).taken.empty())) return;
    committed_ = text;
    Q_EMIT chosen(text);
}

bool TokenField::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Down &&
        !completer_->popup()->isVisible()) {
        completer_->setCompletionPrefix(line_->text());
        if (completer_->completionCount() == 0) completer_->setCompletionPrefix({});
        completer_->complete();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace headlight::ui
