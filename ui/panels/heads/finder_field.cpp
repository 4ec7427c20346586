// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/heads/finder_field.h"

#include "ui/style/typeset.h"

#include <QAbstractItemView>
#include <QKeyEvent>

namespace headlight::ui {

FinderField::FinderField(Document& document) : document_(document), completer_(new QCompleter(&offers_, this)) {
    setObjectName(QStringLiteral("Finder"));
    setAccessibleName(QStringLiteral("Find heads"));
    setPlaceholderText(QStringLiteral("induction > 0.3 and entropy < 1"));
    setClearButtonEnabled(true);
    completer_->setWidget(this);
    completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
    completer_->setMaxVisibleItems(8);
    completer_->popup()->setObjectName(QStringLiteral("Completions"));
    completer_->popup()->setAccessibleName(QStringLiteral("How the question may go on"));
    connect(completer_, qOverload<const QString&>(&QCompleter::activated), this, &FinderField::take);
    connect(this, &QLineEdit::textEdited, this, &FinderField::offer);
}

QStringList FinderField::offered() const {
    QStringList out;
    for (int row = 0; row < offers_.rowCount(); ++row) out << offers_.item(row)->text();
    return out;
}

void FinderField::offer() {
    offers_.clear();
    const auto& table = document_.head_table();
    if (table) {
        const QByteArray typed = text().left(cursorPosition()).toUtf8();
        const auto next = analyze::complete_query({typed.data(), std::size_t(typed.size())}, *table, document_.trace().get());
        from_ = int(QString::fromUtf8(typed.left(next.from)).size());
        for (const std::string& each : next.found) {
            auto* item = new QStandardItem(QString::fromStdString(each));
            for (const analyze::MeasureInfo& measure : table->measures)
                if (measure.title == each) item->setToolTip(typeset(QString::fromStdString(measure.definition)));
            offers_.appendRow(item);
        }
    }
    if (offers_.rowCount() == 0) return completer_->popup()->hide();
    QRect place = rect();
    place.setWidth(std::max(place.width(), 260));
    completer_->complete(place);
}

void FinderField::take(const QString& offer) {
    completer_->popup()->hide();
    setCursorPosition(cursorPosition());
    setSelection(from_, cursorPosition() - from_);
    insert(offer.endsWith(' ') ? offer : offer + ' ');
    offers_.clear();
    Q_EMIT textEdited(text());
}

/// Return and Tab take what is marked in the list; without it they are the field's.
void FinderField::keyPressEvent(QKeyEvent* event) {
    if (completer_->popup()->isVisible()) {
        const QModelIndex marked = completer_->popup()->currentIndex();
        const bool takes = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Tab;
        if (takes && marked.isValid()) return take(marked.data().toString());
        if (takes) completer_->popup()->hide();
    }
    QLineEdit::keyPressEvent(event);
}

void FinderField::focusOutEvent(QFocusEvent* event) {
    if (event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason) completer_->popup()->hide();
    QLineEdit::focusOutEvent(event);
}

}  // namespace headlight::ui
