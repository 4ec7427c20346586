// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/edits/watch_popover.h"

#include "headlight/model/classes.h"
#include "ui/document/subject.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QVBoxLayout>

namespace headlight::ui {

WatchPopover::WatchPopover(Document& document, Jobs& jobs, QWidget* parent)
    : Popover(parent),
      document_(document),
      candidates_(jobs, this),
      place_(new QWidget),
      at_end_(new QRadioButton),
      at_query_(new QRadioButton) {
    auto* column = new_column(this, {14, 10, 14, 12}, 6);
    auto* title = new QLabel(QStringLiteral("Watched answer"));
    title->setFont(figure::ui_font(13, QFont::DemiBold));
    QLabel* note =
        wrapped_label("note", QStringLiteral("Effects are changes of its log-probability, or of its logit minus that of "
                                             "another token. An empty field watches what the model predicts without "
                                             "edits."));
    note->setObjectName(QStringLiteral("WatchNote"));
    place_->setLayout(new QVBoxLayout);
    place_->layout()->setContentsMargins(0, 0, 0, 0);
    add_widgets(*column, {title, place_, note, at_end_, at_query_});
    setFixedWidth(300);
    connect(at_end_, &QRadioButton::clicked, this, [this] { edit([](EditList& e) { e.watched_at.reset(); }); });
    connect(at_query_, &QRadioButton::clicked, this, [this] { edit([at = query_.value](EditList& e) { e.watched_at = at; }); });
}

void WatchPopover::edit(const std::function<void(EditList&)>& change) {
    EditList edits = document_.edits();
    change(edits);
    document_.set_edits(edits);
    if (const auto& run = document_.run_trace()) candidates_.look(run, Position(edits.watched_at.value_or(run->tokens() - 1)));
}

void WatchPopover::open_below(QWidget* button, Position end) {
    const auto& run = document_.run_trace();
    if (!run) return;
    const EditList& edits = document_.edits();
    const auto named = [&](Position p) {
        const auto& labels = run->labels();
        const auto i = static_cast<std::size_t>(p.value);
        return i < labels.size() ? QStringLiteral("%1 (%2)").arg(QString::fromStdString(labels[i].text)).arg(p.value) : QString();
    };
    const auto& pins = document_.selection().get().pinned_queries;
    const bool of_run = document_.attention() != model::Stack::encoder;  // else queries are tokens of the source
    query_ = edits.watched_at ? Position(*edits.watched_at) : pins.empty() || !of_run ? end : pins.back();
    // A masked model fills in the token where it stands.
    const QString place = run->config().causal ? QStringLiteral("after") : QStringLiteral("at");
    const auto say = [&](QRadioButton& choice, const QString& words) {
        const int beside = 28 + 2 * 14;  // the mark and the margins
        choice.setText(
            choice.fontMetrics().elidedText(words, Qt::ElideMiddle, width() - beside).replace(u'&', QStringLiteral("&&")));
        choice.setToolTip(words);
    };
    say(*at_end_, QStringLiteral("%1 %2, by default").arg(place, named(end)));
    say(*at_query_, edits.watched_at ? QStringLiteral("%1 %2").arg(place, named(query_))
                                     : QStringLiteral("%1 the pinned query %2").arg(place, named(query_)));
    // A classifier's head reads its own row, whatever is pinned.
    const bool free = !model::text_class_position(run->config(), run->encoding().ids);
    at_query_->setVisible(free && (query_ != end || edits.watched_at));
    (free && edits.watched_at ? at_query_ : at_end_)->setChecked(true);
    const auto add = [&](QPointer<TokenField>& field, QString EditList::*of, Subject subject, const QString& name) {
        delete field;
        field = new TokenField(candidates_, edits.*of);
        field->line().setAccessibleName(name);
        connect(field, &TokenField::chosen, this, [this, subject](const QString& token) {
            document_.edit_options([&](ViewOptions& o) { set_subject(o, subject, token.toStdString()); });
        });
        place_->layout()->addWidget(field);
    };
    add(field_, &EditList::watched, Subject::answer, QStringLiteral("Watched answer"));
    add(against_, &EditList::against, Subject::contrast, QStringLiteral("Minus the logit of"));
    against_->line().setPlaceholderText(QStringLiteral("minus another token, none by default"));
    candidates_.look(run, Position(edits.watched_at.value_or(end.value)));
    ensurePolished();
    auto* note = findChild<QLabel*>(QStringLiteral("WatchNote"));
    note->ensurePolished();
    note->setFixedHeight(note->heightForWidth(width() - 2 * 14));
    adjustSize();
    show_below(button, Qt::RightEdge);
    field_->line().setFocus();
}

void WatchPopover::hideEvent(QHideEvent* event) {
    Popover::hideEvent(event);
    // Later: a field that loses the focus still reads its text.
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (!isVisible()) candidates_.clear();
        },
        Qt::QueuedConnection);
}

}  // namespace headlight::ui
