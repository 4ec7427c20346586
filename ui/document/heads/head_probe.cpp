// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/heads/head_probe.h"

#include "headlight/trace/shared_rows.h"

#include <algorithm>

namespace headlight::ui {

HeadProbe::HeadProbe(Jobs& jobs) : jobs_(jobs) {
    wait_.setSingleShot(true);
    wait_.setInterval(wait_ms);
    connect(&wait_, &QTimer::timeout, this, &HeadProbe::take_turn);
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane == Jobs::Lane::probe && state_ == State::running && !giving_way_)
            put_off(QStringLiteral("The probe for induction heads was stopped"));
    });
}

void HeadProbe::look(const OpenModel& opened) {
    state_ = State::none;
    jobs_.cancel(Jobs::Lane::probe);
    wait_.stop();
    model_ = opened;
    found_.reset();
    plan_.reset();
    note_.clear();
    seconds_a_token_.reset();
    asked_ = false;
    if (!model_.model || !model_.tokenizer) return;
    std::uintmax_t bytes = 0;
    for (const io::FileStamp& file : model_.files) bytes += file.bytes;
    state_ = State::reading;
    jobs_.start(Jobs::Lane::probe, {},
                [this, opened, large = bytes > most_bytes](const CancelToken&, const Progress&) -> Jobs::Deliver {
                    const auto plan = analyze::probe_plan(*opened.model, *opened.tokenizer);
                    std::shared_ptr<const analyze::InductionProbe> kept;
                    try {
                        check_files(opened);
                        if (plan && !large) kept = analyze::kept_probe(*opened.model, *opened.tokenizer, *plan);
                    } catch (const Error&) {  // files that are gone: the run says so
                    }
                    return [this, plan, kept, large] {
                        plan_ = plan;
                        found_ = kept;
                        state_ = kept ? State::done : plan ? State::waiting : State::none;
                        if (plan && large && !asked_)
                            put_off(QStringLiteral("Heads are not probed for induction: the model is large"));
                        else
                            Q_EMIT changed();
                        if (state_ == State::waiting) wait_.start();
                    };
                });
}

void HeadProbe::run_finished(const trace::Trace& run) {
    if (!seconds_a_token_ || trace::shared_rows_of(run) == 0)
        seconds_a_token_ = run.info().seconds / static_cast<double>(std::max<std::int64_t>(1, run.tokens()));
    if (state_ == State::waiting) wait_.start();
}

void HeadProbe::make_way() {
    if (state_ != State::running) return;
    giving_way_ = true;
    jobs_.cancel(Jobs::Lane::probe);
    giving_way_ = false;
    state_ = State::waiting;
    wait_.start();
}

void HeadProbe::ask() {
    if (asked_) return;
    asked_ = true;
    if (state_ == State::deferred) state_ = State::waiting;
    note_.clear();
    if (state_ == State::waiting) wait_.start();
    Q_EMIT changed();
}

double HeadProbe::seconds() const {
    return *seconds_a_token_ * static_cast<double>(analyze::probe_tokens(model_.model->config(), *model_.tokenizer, *plan_));
}

void HeadProbe::take_turn() {
    if (state_ != State::waiting || !seconds_a_token_) return;
    if (jobs_.busy(Jobs::Lane::model) || jobs_.busy(Jobs::Lane::picture)) return wait_.start();
    if (!asked_ && seconds() > most_seconds)
        return put_off(QStringLiteral("Heads are not probed for induction: that would take about %1 s")
                           .arg(seconds() < 100 ? std::lround(seconds()) : std::lround(seconds() / 10) * 10));
    start();
}

void HeadProbe::start() {
    state_ = State::running;
    jobs_.start(Jobs::Lane::probe, QStringLiteral("Probing heads for induction"),
                [this, opened = model_](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                    std::shared_ptr<const analyze::InductionProbe> probe;
                    QString failed;
                    try {
                        check_files(opened);
                        probe = analyze::model_probe(opened.model, opened.tokenizer, cancel, progress);
                    } catch (const Error& error) {
                        failed = QStringLiteral("Heads are not probed for induction: %1").arg(QString::fromUtf8(error.what()));
                    }
                    return [this, probe, failed] {
                        if (!probe) return put_off(failed);
                        found_ = probe;
                        state_ = State::done;
                        Q_EMIT changed();
                    };
                });
}

void HeadProbe::put_off(const QString& why) {
    state_ = State::deferred;
    asked_ = false;
    note_ = why + QStringLiteral(". Choose “induction on random tokens” as the measure of the heads to run it");
    Q_EMIT changed();
}

bool HeadProbe::pending() const {
    return state_ == State::reading || state_ == State::running || (state_ == State::waiting && seconds_a_token_);
}

QString HeadProbe::note() const { return state_ == State::deferred ? note_ : QString(); }

}  // namespace headlight::ui
