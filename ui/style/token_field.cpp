// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/token_field.h"

#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QKeyEvent>
#include <QPainter>
#include <QStandardItemModel>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace headlight::ui {

namespace {

const QString next_word = QStringLiteral("next");
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

/// Where the last of several tokens begins.
qsizetype last_begin(const QString& line) {
    qsizetype at = line.lastIndexOf(u'|') + 1;
    while (at > 0 && at < line.size() && line[at] == u' ') ++at;
    return at;
}

/// As a list is read: spaces around | say nothing, so that a token's own is written as figures do.
QString listed(QString token) {
    if (token.startsWith(u' ')) token[0] = u'·';
    return token;
}

/// Completes the last of several tokens.
class LastToken : public QCompleter {
public:
    LastToken(const QLineEdit& line, QObject* parent) : QCompleter(parent), line_(line) {}
    QStringList splitPath(const QString& text) const override { return {text.sliced(last_begin(text))}; }
    QString pathFromIndex(const QModelIndex& index) const override {
        const QString line = line_.text();
        return line.first(last_begin(line)) + listed(QCompleter::pathFromIndex(index));
    }

private:
    const QLineEdit& line_;
};

}  // namespace

TokenField::TokenField(const TokenCandidates& candidates, const QString& value, Holds holds, QWidget* parent)
    : QWidget(parent),
      candidates_(candidates),
      holds_(holds),
      line_(new QLineEdit(value)),
      note_(wrapped_label("note")),
      completer_(holds == Holds::several ? new LastToken(*line_, this) : new QCompleter(this)),
      offered_(new QStandardItemModel(this)),
      committed_(value) {
    auto* column = new_column(this, {0, 0, 0, 0}, 3);
    line_->setPlaceholderText(holds == Holds::target ? QStringLiteral("Text, id or next, ↓ for the likeliest")
                                                     : QStringLiteral("Text or id, ↓ for the likeliest"));
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
    connect(note_, &QLabel::linkActivated, this, [this](const QString& link) {
        QStringList all = parts();
        const qsizetype end = link.indexOf(u':');
        all[link.first(end).toInt()] = holds_ == Holds::several ? listed(link.sliced(end + 1)) : link.sliced(end + 1);
        line_->setText(all.join(QStringLiteral(" | ")));
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
    const auto add = [this](const TokenReading::Entry& e) {
        auto* item = new QStandardItem(e.typed);
        item->setData(e.label, label_role);
        item->setData(e.chance, chance_role);
        item->setData(QStringLiteral("%1, %2").arg(e.label, e.chance), Qt::AccessibleTextRole);
        offered_->appendRow(item);
    };
    if (const TokenReading next = reading(next_word); holds_ == Holds::target && !next.taken.empty()) {
        TokenReading::Entry entry = next.taken.front();
        entry.label = QStringLiteral("next: ") + entry.label;
        entry.typed = next_word;
        add(entry);
    }
    for (TokenReading::Entry e : candidates_.likeliest()) {
        if (holds_ == Holds::target && e.typed == next_word) e.typed = QString::number(e.id);  // the token of this name
        add(e);
    }
}

TokenReading TokenField::reading(const QString& typed) const { return candidates_.read(typed, holds_ == Holds::target); }

QStringList TokenField::parts() const {
    if (holds_ != Holds::several || !line_->text().contains(u'|')) return {line_->text()};
    QStringList parts = line_->text().split(u'|');
    for (QString& part : parts) part = part.trimmed();
    return parts;
}

/// What the text means so far; other spellings are links, with the number of their part.
void TokenField::read() {
    QStringList notes;
    const QStringList all = parts();
    for (qsizetype i = 0; i < all.size(); ++i) {
        const TokenReading found = reading(all[i]);
        QString note = found.note.toHtmlEscaped();
        for (const TokenReading::Entry& e : found.other) {
            const QString name = QStringLiteral("%1 (%2)").arg(e.label.toHtmlEscaped()).arg(e.id);
            note.replace(note.lastIndexOf(name), name.size(),
                         QStringLiteral("<a href=\"%1:%2\">%3</a>").arg(i).arg(e.typed.toHtmlEscaped(), name));
        }
        if (!note.isEmpty()) notes << note;
    }
    note_->setText(notes.join(QStringLiteral("; ")));
    note_->setVisible(!notes.isEmpty());
}

void TokenField::commit() {
    const QString text = line_->text();
    const QStringList all = parts();
    const bool all_read = std::ranges::none_of(all, [&](const QString& part) { return reading(part).taken.empty(); });
    if (text == committed_ || (!text.isEmpty() && !all_read)) return;
    committed_ = text;
    Q_EMIT chosen(text);
}

bool TokenField::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Down &&
        !completer_->popup()->isVisible()) {
        completer_->setCompletionPrefix(completer_->splitPath(line_->text()).value(0));
        if (completer_->completionCount() == 0) completer_->setCompletionPrefix({});
        completer_->complete();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace headlight::ui
