// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/jobs/jobs.h"

#include "headlight/base/working_for.h"
#include "headlight/io/mapped_file.h"
#include "headlight/model/spare_memory.h"

#include <QCoreApplication>
#include <QEvent>

#include <exception>
#include <utility>

namespace headlight::ui {
namespace {

/// Of the event that says that something waits in Jobs::arrived_.
QEvent::Type arrival() {
    static const auto type = static_cast<QEvent::Type>(QEvent::registerEventType());
    return type;
}

}  // namespace

ErrorFacts facts_of_lost(const std::filesystem::path& file) {
    return {.problem = "A file was cut short while it was read, or its disk went away",
            .file = file.string(),
            .hint = "What is on screen stays. Put the file back and open the model again"};
}

Jobs::Jobs(QObject* parent) : QObject(parent) {
    qRegisterMetaType<Lane>();
    qRegisterMetaType<Failure>();
}

Jobs::~Jobs() { cancel_all(); }

void Jobs::cancel_all() {
    for (auto& [lane, ticket] : current_) ticket.token.cancel();
    for (auto& [lane, thread] : threads_) {
        thread.clear();
        thread.waitForDone();
    }
    const std::lock_guard lock(handing_over_);
    waiting_.clear();
    current_.clear();
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
    QThreadPool& thread = threads_[lane];
    thread.setMaxThreadCount(1);
    thread.setExpiryTimeout(-1);
    {
        const std::lock_guard lock(handing_over_);
        waiting_[lane].push_back({ticket, std::move(work)});
    }
    thread.start([this, lane] {
        std::unique_lock lock(handing_over_);
        std::deque<Waiting>& waiting = waiting_[lane];
        {
            const Waiting next = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            run(lane, next.ticket, next.work);
        }
        lock.lock();  // lets cancel_all() see all that the job did
    });
}

void Jobs::in_window(std::function<void()> what) {
    {
        const std::lock_guard lock(handing_over_);
        arrived_.push_back(std::move(what));
    }
    QCoreApplication::postEvent(this, new QEvent(arrival()));
}

void Jobs::customEvent(QEvent* event) {
    if (event->type() != arrival()) return QObject::customEvent(event);
    std::unique_lock lock(handing_over_);
    const std::function<void()> what = std::move(arrived_.front());
    arrived_.pop_front();
    lock.unlock();
    what();
}

void Jobs::run(Lane lane, const Ticket& ticket, const Work& work) {
    const Progress progress = [&](const ProgressStep& step) {
        in_window([=, this, number = ticket.number] {
            if (wanted(lane, number)) Q_EMIT progressed(lane, step);
        });
    };
    const auto finish_with = [&](const Deliver& deliver) {
        in_window([=, this, number = ticket.number] { finish(lane, number, deliver); });
    };
    try {
        ticket.token.throw_if_cancelled();
        const WorkingFor here(ticket.token);
        const int blanked = io::MappedFile::blanked();
        Deliver deliver = work(ticket.token, progress);
        // Opening takes other files, and a document whose model is lost runs nothing; everything else may have read the zeros.
        if (io::MappedFile::blanked() != blanked ||
            (lane != Lane::model && blanked != forgiven_ && !io::MappedFile::damaged().empty()))
            throw Error(facts_of_lost(io::MappedFile::damaged()));
        finish_with(deliver);
    } catch (const Cancelled&) {
        finish_with({});
    } catch (const std::exception& error) {
        finish_with([facts = facts_of(error)] { throw Error(facts); });
    } catch (...) {
        finish_with([] { throw Error("The work ended for an unknown reason"); });
    }
}

void Jobs::finish(Lane lane, quint64 number, const Deliver& deliver) {
    if (!wanted(lane, number)) return;
    const QString doing = current_.at(lane).doing;
    current_.erase(lane);
    try {
        if (deliver) deliver();
    } catch (...) {
        Q_EMIT failed(lane, {doing, facts_of_current_exception()});
    }
    // A delivery or whoever heard of the failure may have started the lane's next job.
    if (!current_.contains(lane)) Q_EMIT finished(lane);
    // What a view's work has freed stays in the heap: an hour of views is gigabytes.
    if (idle()) model::give_spare_memory_back();
}

void Jobs::cancel(Lane lane) {
    const auto found = current_.find(lane);
    if (found == current_.end()) return;
    found->second.token.cancel();
    current_.erase(found);
    Q_EMIT finished(lane);
}

void Jobs::ask_to_stop(Lane lane) {
    if (const auto found = current_.find(lane); found != current_.end()) found->second.token.cancel();
}

}  // namespace headlight::ui
