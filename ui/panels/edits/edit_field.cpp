// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/edits/edit_field.h"

#include "headlight/intervention/recipe/recipe.h"

#include <QAbstractItemView>
#include <QKeyEvent>

namespace headlight::ui {

namespace {

using intervention::Operation;

/// What a direction can be: of the followed neuron, the selected head, the pinned tokens.
std::vector<std::pair<QString, QString>> directions_of(const figure::Selection& s) {
    const auto at = [](const std::vector<Position>& pins, const char* without) {
        return pins.empty() ? QLatin1String(without) : QString::number(pins.back().value);
    };
    const analyze::NeuronId neuron = s.neuron.value_or(analyze::NeuronId{s.focus.layer, Neuron(0)});
    return {{QStringLiteral("token \""), QStringLiteral("a token's column of the unembedding")},
            {QStringLiteral("neuron L%1N%2").arg(neuron.layer.value).arg(neuron.neuron.value),
             QStringLiteral("what the neuron writes")},
            {QStringLiteral("ov %1.0").arg(figure::head_name(s.focus)), QStringLiteral("what the head writes most")},
            {QStringLiteral("difference @%1 @%2").arg(at(s.pinned_queries, "END"), at(s.pinned_keys, "0")),
             QStringLiteral("the query's stream minus the key's")}};
}

/// Where an edit of this operation can be, for the selected head, neuron and layer.
std::vector<std::pair<QString, QString>> places_of(Operation operation, const figure::Selection& s) {
    const QString layer = QStringLiteral("L%1").arg(s.focus.layer.value), head = figure::head_name(s.focus);
    if (intervention::is_of_pattern(operation))
        return {{head, QStringLiteral("the selected head")}, {layer, QStringLiteral("every head of the layer")}};
    std::vector<std::pair<QString, QString>> places;
    if (operation == Operation::forbid || operation == Operation::force)
        return {{layer + QStringLiteral("E0"), QStringLiteral("an expert")}};
    if (operation == Operation::freeze)
        return {{QStringLiteral("pattern"), QStringLiteral("every attention pattern")},
                {QStringLiteral("norm"), QStringLiteral("every scale of a norm")},
                {QStringLiteral("mlp"), QStringLiteral("every MLP's output")}};
    if (!intervention::has_direction(operation)) {
        places.emplace_back(head, QStringLiteral("the selected head's output"));
        if (s.neuron)
            places.emplace_back(QStringLiteral("L%1N%2").arg(s.neuron->layer.value).arg(s.neuron->neuron.value),
                                QStringLiteral("the followed neuron"));
        for (const char* site : {"q", "k", "v"})
            places.emplace_back(head + u'.' + QLatin1String(site),
                                QStringLiteral("the head's %1")
                                    .arg(QString::fromUtf8(intervention::row_of(*site == 'q'   ? intervention::Site::q
                                                                                : *site == 'k' ? intervention::Site::k
                                                                                               : intervention::Site::v)
                                                               .title)));
    }
    for (const intervention::Site site :
         {intervention::Site::mlp_out, intervention::Site::attn_out, intervention::Site::resid_pre, intervention::Site::resid_mid,
          intervention::Site::resid_post}) {
        const intervention::SiteRow& row = intervention::row_of(site);
        places.emplace_back(layer + u'.' + QString::fromUtf8(row.word), QString::fromUtf8(row.title));
    }
    return places;
}

}  // namespace

EditOffers offers_for_edit(const QString& typed, const Document& document) {
    EditOffers out;
    if (typed.count(u'"') % 2 == 1) return out;  // inside a text
    out.from = typed.lastIndexOf(u' ') + 1;
    const QString word = typed.mid(out.from);
    QStringList before = typed.left(out.from).split(u' ', Qt::SkipEmptyParts);
    if (!before.isEmpty() && before.front() == QLatin1String("off")) before.removeFirst();
    std::vector<std::pair<QString, QString>> known;
    if (before.isEmpty()) {
        for (const auto& row : intervention::operations)
            known.emplace_back(QString::fromUtf8(row.word), QString::fromUtf8(row.title));
    } else if (const auto operation = enum_value<Operation>(before.front().toStdString())) {
        const figure::Selection& s = document.selection().get();
        const auto at = [](const std::vector<Position>& pins) { return QString::number(pins.back().value); };
        const bool edged = *operation == Operation::knockout || *operation == Operation::set || *operation == Operation::write;
        if (before.size() == 1) {
            known = places_of(*operation, s);
        } else if (edged && before.size() == 2) {
            const QString query = s.pinned_queries.empty() ? QStringLiteral("END") : at(s.pinned_queries);
            known.emplace_back(query + QStringLiteral("<-") + (s.pinned_keys.empty() ? QStringLiteral("0") : at(s.pinned_keys)),
                               QStringLiteral("from the query to the key"));
        } else if (!edged && word.startsWith(u'@')) {
            known.emplace_back(QStringLiteral("@END"), QStringLiteral("where the answer is read"));
            if (!s.pinned_queries.empty()) known.emplace_back(u'@' + at(s.pinned_queries), QStringLiteral("the pinned query"));
        } else if (intervention::has_direction(*operation) && before.size() == 2) {
            known = directions_of(s);
        }
    }
    // A word that is whole needs no list.
    for (const auto& each : known)
        if (each.first == word) return out;
    for (const auto& each : known)
        if (each.first.startsWith(word, Qt::CaseInsensitive)) out.words.push_back(each);
    return out;
}

EditField::EditField(Document& document, QWidget* parent)
    : QLineEdit(parent), document_(document), completer_(new QCompleter(&offers_, this)) {
    completer_->setWidget(this);
    completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
    completer_->setMaxVisibleItems(8);
    completer_->popup()->setObjectName(QStringLiteral("Completions"));
    completer_->popup()->setAccessibleName(QStringLiteral("How the edit may go on"));
    connect(completer_, qOverload<const QModelIndex&>(&QCompleter::activated), this,
            [this](const QModelIndex& chosen) { take(chosen.data(Qt::EditRole).toString()); });
    connect(this, &QLineEdit::textEdited, this, &EditField::offer);
    connect(this, &QLineEdit::editingFinished, this, &EditField::show_beginning);
}

void EditField::set_words(const QString& words) {
    if (text() != words) setText(words);
    setModified(false);
    show_beginning();
}

/// It says what the edit is. While one types here, in a window in the background too, cursor and selection stay.
void EditField::show_beginning() {
    if (window()->focusWidget() != this) setCursorPosition(0);
}

QStringList EditField::offered() const {
    QStringList out;
    for (int row = 0; row < offers_.rowCount(); ++row) out << offers_.item(row)->text();
    return out;
}

void EditField::offer() {
    offers_.clear();
    const EditOffers next = offers_for_edit(text().left(cursorPosition()), document_);
    from_ = next.from;
    for (const auto& [word, meaning] : next.words) {
        auto* item = new QStandardItem(word);
        item->setToolTip(meaning);
        offers_.appendRow(item);
    }
    if (offers_.rowCount() == 0) return completer_->popup()->hide();
    QRect place = cursorRect();
    place.setWidth(240);
    completer_->complete(place);
    completer_->popup()->setCurrentIndex({});  // Return is the field's until something is chosen
}

void EditField::take(const QString& word) {
    completer_->popup()->hide();
    setSelection(int(from_), cursorPosition() - int(from_));
    insert(word + u' ');
    offer();
}

/// Return and Tab take what is marked in the list; without it they are the field's.
void EditField::keyPressEvent(QKeyEvent* event) {
    if (completer_->popup()->isVisible()) {
        const QModelIndex marked = completer_->popup()->currentIndex();
        const bool takes = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Tab;
        if (takes && marked.isValid()) return take(marked.data(Qt::EditRole).toString());
        if (takes) completer_->popup()->hide();
    }
    QLineEdit::keyPressEvent(event);
}

void EditField::focusOutEvent(QFocusEvent* event) {
    if (event->reason() != Qt::PopupFocusReason && event->reason() != Qt::ActiveWindowFocusReason) completer_->popup()->hide();
    QLineEdit::focusOutEvent(event);
}

}  // namespace headlight::ui
