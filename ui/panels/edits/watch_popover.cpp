// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/edits/watch_popover.h"

#include "ui/style/appearance.h"

#include <QVBoxLayout>

namespace headlight::ui {

WatchPopover::WatchPopover(Document& document, Jobs& jobs, QWidget* parent)
    : Popover(parent),
      document_(document),
      candidates_(jobs, this),
      place_(new QWidget),
      at_end_(new QRadioButton),
      at_query_(new QRadioButton) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(14, 10, 14, 12);
    column->setSpacing(6);
    auto* title = new QLabel(QStringLiteral("Watched answer"));
    title->setFont(figure::ui_font(13, QFont::DemiBold));
    auto* note =
        new QLabel(QStringLiteral("Effects are changes of its log-probability. An empty field watches what the model predicts "
                                  "without edits."));
    note->setProperty("role", "note");
    note->setWordWrap(true);
    place_->setLayout(new QVBoxLayout);
    place_->layout()->setContentsMargins(0, 0, 0, 0);
    column->addWidget(title);
    column->addWidget(place_);
    column->addWidget(note);
    column->addWidget(at_end_);
    column->addWidget(at_query_);
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
    at_end_->setText(QStringLiteral("after %1, where the answer is read").arg(named(end)));
    at_query_->setText(edits.watched_at ? QStringLiteral("after %1").arg(named(query_))
                                        : QStringLiteral("after the pinned query %1").arg(named(query_)));
    at_query_->setVisible(query_ != end || edits.watched_at);
    (edits.watched_at ? at_query_ : at_end_)->setChecked(true);
    delete field_;
    field_ = new TokenField(candidates_, edits.watched);
    field_->line().setAccessibleName(QStringLiteral("Watched answer"));
    connect(field_, &TokenField::chosen, this, [this](const QString& token) { edit([&](EditList& e) { e.watched = token; }); });
    place_->layout()->addWidget(field_);
    candidates_.look(run, Position(edits.watched_at.value_or(end.value)));
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
