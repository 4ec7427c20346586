// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/status/status_strip.h"

#include "headlight/base/numbers.h"
#include "ui/style/appearance.h"
#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QMenu>

#include <algorithm>

namespace headlight::ui {

StatusStrip::StatusStrip(Document& document, Jobs& jobs, QWidget* parent)
    : QWidget(parent),
      document_(document),
      jobs_(jobs),
      bar_(new QProgressBar),
      text_(new QLabel),
      machine_(new QLabel),
      cancel_(new QToolButton),
      notes_button_(new QToolButton) {
    setObjectName(QStringLiteral("StatusStrip"));
    setAttribute(Qt::WA_StyledBackground);
    setFixedHeight(28);
    bar_->setFixedWidth(96);
    bar_->setTextVisible(false);
    bar_->setAccessibleName(QStringLiteral("Progress"));
    bar_->hide();
    text_->setFont(figure::ui_font(12));
    text_->setTextFormat(Qt::PlainText);
    text_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    machine_->setFont(figure::ui_font(12));
    for (QToolButton* button : {cancel_, notes_button_}) {
        button->setProperty("kind", "quiet");
        button->setProperty("plain", true);
        button->setFocusPolicy(Qt::TabFocus);
        button->hide();
    }
    cancel_->setText(QStringLiteral("cancel"));
    cancel_->setAccessibleName(QStringLiteral("Cancel"));
    notes_button_->setPopupMode(QToolButton::InstantPopup);
    notes_button_->setMenu(new QMenu(notes_button_));
    notes_button_->setAccessibleName(QStringLiteral("Notes"));
    auto* row = new_row(this, {16, 1, 16, 0}, 10);
    row->addWidget(bar_, 0, Qt::AlignVCenter);
    row->addWidget(text_, 1);
    add_widgets(*row, {cancel_, notes_button_, machine_});

    connect(&jobs_, &Jobs::started, this, &StatusStrip::job_started);
    connect(&jobs_, &Jobs::progressed, this, &StatusStrip::job_progressed);
    connect(&jobs_, &Jobs::finished, this, &StatusStrip::job_finished);
    connect(cancel_, &QToolButton::clicked, this, [this] {
        if (running_.empty()) return;
        if (const Jobs::Lane lane = running_.back().lane; lane == Jobs::Lane::model)
            document_.stop();
        else if (lane == Jobs::Lane::corpus)
            jobs_.ask_to_stop(lane);  // what is finished is written and merged
        else
            jobs_.cancel(lane);
    });
    connect(&document_, &Document::changed, this, &StatusStrip::show_document);
    connect(&document_, &Document::reference_changed, this, [this] { show_document(Document::Change::model); });
    appear_.setSingleShot(true);
    appear_.setInterval(150);  // work that is over sooner needs no bar
    connect(&appear_, &QTimer::timeout, this, [this] {
        bar_->show();
        cancel_->show();
        show_job();
    });
    said_timer_.setSingleShot(true);
    connect(&said_timer_, &QTimer::timeout, this, [this] {
        said_.clear();
        show_text();
    });
    show_text();
}

void StatusStrip::job_started(Jobs::Lane lane) {
    std::erase_if(running_, [lane](const Running& job) { return job.lane == lane; });
    // Other jobs show their progress elsewhere, or nobody waits for them.
    using Lane = Jobs::Lane;
    const QString doing = jobs_.doing(lane);
    // A corpus runs beside all else: whatever is started meanwhile is shown before it.
    if (lane == Lane::corpus) running_.insert(running_.begin(), {lane, doing + QStringLiteral(" …")});
    if (!doing.isEmpty() &&
        (lane == Lane::model || lane == Lane::texts || lane == Lane::picture || lane == Lane::second_picture ||
         lane == Lane::model_picture || lane == Lane::file || lane == Lane::finder || lane == Lane::probe || lane == Lane::other))
        running_.push_back({lane, doing + QStringLiteral(" …")});
    show_job();
}

void StatusStrip::job_progressed(Jobs::Lane lane, const ProgressStep& step) {
    const auto job = std::ranges::find(running_, lane, &Running::lane);
    if (job == running_.end()) return;
    job->done = int(step.done);
    job->total = int(std::max<std::int64_t>(step.total, 0));
    // "Refinement: layer 12 of 30"
    std::string doing = step.what;
    if (step.total > 0 || step.done > 0 || !step.unit.empty())
        doing += ":" + (step.unit.empty() ? "" : " " + step.unit) + " " + with_commas(step.done);
    if (step.total > 0) doing += " of " + with_commas(step.total);
    job->doing = QString::fromStdString(doing);
    show_job();
}

void StatusStrip::job_finished(Jobs::Lane lane) {
    std::erase_if(running_, [lane](const Running& job) { return job.lane == lane; });
    show_job();
}

void StatusStrip::show_job() {
    if (running_.empty()) {
        appear_.stop();
        bar_->hide();
        cancel_->hide();
    } else {
        bar_->setRange(0, running_.back().total);
        bar_->setValue(running_.back().done);
        if (bar_->isHidden() && !appear_.isActive()) appear_.start();
    }
    show_text();
}

void StatusStrip::show_text() {
    const bool working = !bar_->isHidden() && !running_.empty();
    // A corpus may run for hours: the pointer has its say all the same.
    const bool lasting = working && running_.back().lane == Jobs::Lane::corpus;
    if (working && !lasting) {
        text_->setText(running_.back().doing);
    } else if (!said_.isEmpty()) {
        text_->setText(said_);
    } else if (!tip_.isEmpty()) {
        text_->setText(tip_);
    } else if (lasting) {
        text_->setText(running_.back().doing);
    } else {
        using NotRun = Document::NotRun;
        const bool behind = document_.trace() && document_.why_not_run() != NotRun::no && !document_.up_to_date();
        QString text = behind                              ? QStringLiteral("The text above was not run")
                       : document_.trace()                 ? QStringLiteral("Ready")
                       : !document_.model().model          ? QString()
                       : reads_pictures(document_.model()) ? QStringLiteral("Open a picture")
                       : document_.prompt().text.isEmpty() ? QStringLiteral("Type a sentence")
                                                           : QStringLiteral("Not run yet");
        if (const QString reference = reference_text(); !reference.isEmpty()) text += QStringLiteral("   ·   ") + reference;
        text_->setText(text);
    }
}

QString StatusStrip::reference_text() const {
    const ReferenceCheck& reference = document_.reference();
    if (reference.pending()) return QStringLiteral("comparing with the stored reference …");
    if (!reference.found()) return {};
    return QStringLiteral("against the stored reference, %1").arg(QString::fromStdString(model::text_of(*reference.found())));
}

void StatusStrip::point_at(const QString& tip) {
    tip_ = QString(tip).replace('\n', QStringLiteral("   "));
    show_text();
}

void StatusStrip::say(const QString& text) {
    said_ = text;
    said_timer_.start(4000);
    show_text();
}

void StatusStrip::add_note(const QString& note) {
    own_notes_ << note;
    show_document(Document::Change::trace);
}

void StatusStrip::show_document(Document::Change change) {
    if (change == Document::Change::model) said_.clear();  // it was about the model before
    const auto& trace = document_.run_trace();
    notes_ = own_notes_;
    if (const QString probe = document_.probe().note(); !probe.isEmpty()) notes_ << probe;
    if (const auto& model = document_.model().model) {
        for (const auto& note : model->report().notes) notes_ << QString::fromStdString(note);
        for (const auto& tensor : model->report().unused)
            notes_ << QStringLiteral("Not used: tensor %1").arg(QString::fromStdString(tensor));
        for (const auto& part : model->report().optional_missing)
            notes_ << QStringLiteral("Not in the files: %1").arg(QString::fromStdString(part));
        QStringList facts{QString::fromUtf8(enum_row(model->dtype()).title), QString::fromStdString(model->device_name())};
        if (trace)
            facts << (trace->info().threads == 1 ? QStringLiteral("1 thread")
                                                 : QStringLiteral("%1 threads").arg(trace->info().threads));
        machine_->setText(facts.join(QStringLiteral(" · ")));
    }
    if (document_.reference().found()) notes_ << reference_text().replace(0, 1, QStringLiteral("A"));
    if (trace) {
        for (const auto& warning : trace->info().warnings) notes_ << QString::fromStdString(warning);
    }
    notes_button_->setVisible(!notes_.isEmpty());
    notes_button_->setText(notes_.size() == 1 ? QStringLiteral("1 note ▸") : QStringLiteral("%1 notes ▸").arg(notes_.size()));
    notes_button_->menu()->clear();
    for (const QString& note : notes_.mid(0, 40)) notes_button_->menu()->addAction(note)->setEnabled(false);
    if (notes_.size() > 40)
        notes_button_->menu()->addAction(QStringLiteral("and %1 more").arg(notes_.size() - 40))->setEnabled(false);
    show_text();
}

}  // namespace headlight::ui
