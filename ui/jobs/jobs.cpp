// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/jobs/jobs.h"

#include <new>

namespace headlight::ui {

ErrorFacts facts_of(const std::exception& error) {
    if (const auto* ours = dynamic_cast<const Error*>(&error)) return ours->facts();
    if (dynamic_cast<const std::bad_alloc*>(&error)) {
        return {.problem = "There is not enough memory", .hint = "Use a shorter text or a smaller model"};
    }
    return {.problem = error.what()};
}

Jobs::Jobs(QObject* parent) : QObject(parent) {
    qRegisterMetaType<Lane>();
    qRegisterMetaType<Failure>();
    // One lasting thread each: every thread that calls LibTorch owns a team of OpenMP threads, and two would fight.
    for (QThreadPool* pool : {&model_pool_, &picture_pool_}) {
        pool->setMaxThreadCount(1);
        pool->setExpiryTimeout(-1);
    }
}

Jobs::~Jobs() { cancel_all(); }

void Jobs::cancel_all() {
    for (auto& [lane, ticket] : current_) ticket.token.cancel();
    for (QThreadPool* pool : {&model_pool_, &picture_pool_}) {
        pool->clear();
        pool->waitForDone();
    }
    current_.clear();
}

QThreadPool& Jobs::pool(Lane lane) {
    return lane == Lane::model || lane == Lane::texts || lane == Lane::reference ? model_pool_ : picture_pool_;
}

QString Jobs::doing(Lane lane) const {
    const auto found = current_.find(lane);
    return found == current_.end() ? QString() : found->second.doing;
}

bool Jobs::wanted(Lane lane, quint64 number) const {
    const auto found = current_.find(lane);
    return found != current_.end() && found->second.number == number;
}

void Jobs::start(Lane lane, const QString& doing, Work work) {
    if (const auto old = current_.find(lane); old != current_.end()) old->second.token.cancel();
    const Ticket ticket{next_++, CancelToken(), doing};
    current_[lane] = ticket;
    Q_EMIT started(lane);
    pool(lane).start([this, lane, ticket, work = std::move(work)] {
        const auto in_window = [this](auto&& what) { QMetaObject::invokeMethod(this, std::move(what), Qt::QueuedConnection); };
        const Progress progress = [&](const ProgressStep& step) {
            const QString what = QString::fromStdString(step.what + (step.unit.empty() ? "" : " " + step.unit));
            in_window([=, this, done = int(step.done), total = int(step.total)] {
                if (wanted(lane, ticket.number)) Q_EMIT progressed(lane, what, done, total);
            });
        };
        try {
            ticket.token.throw_if_cancelled();
            Deliver deliver = work(ticket.token, progress);
            in_window([=, this] { finish(lane, ticket.number, deliver); });
        } catch (const Cancelled&) {
            in_window([=, this] { finish(lane, ticket.number, {}); });
        } catch (const std::exception& error) {
            const Failure failure{ticket.doing, facts_of(error)};
            in_window([=, this] { fail(lane, ticket.number, failure); });
        }
    });
}

void Jobs::finish(Lane lane, quint64 number, const Deliver& deliver) {
    if (!wanted(lane, number)) return;
    current_.erase(lane);
    if (deliver) deliver();
    if (!current_.contains(lane)) Q_EMIT finished(lane);
}

void Jobs::fail(Lane lane, quint64 number, const Failure& failure) {
    if (!wanted(lane, number)) return;
    current_.erase(lane);
    Q_EMIT failed(lane, failure);
    Q_EMIT finished(lane);
}

void Jobs::cancel(Lane lane) {
    const auto found = current_.find(lane);
    if (found == current_.end()) return;
    found->second.token.cancel();
    current_.erase(found);
    Q_EMIT finished(lane);
}

}  // namespace headlight::ui
