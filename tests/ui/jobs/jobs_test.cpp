// SPDX-License-Identifier: GPL-3.0-or-later
// Jobs by themselves.
#include "ui/jobs/jobs.h"
#include "headlight/io/mapped_file.h"
#include "ui/bus_guard.h"
#include "ui/jobs/waiting_job.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <atomic>
#include <fstream>
#include <thread>

namespace headlight::ui {
namespace jobs_test {

using Lane = Jobs::Lane;

Jobs::Work quick(std::function<void()> deliver) {
    return [deliver](const CancelToken&, const Progress&) -> Jobs::Deliver { return deliver; };
}

/// Lets what `jobs` has queued arrive, also where nothing is expected.
void settle(Jobs& jobs) {
    ASSERT_TRUE(wait_for([&] { return jobs.idle(); }));
    QCoreApplication::processEvents();
}

TEST(Jobs, ADeliveryThatThrowsFailsAndFreesItsLane) {
    Jobs jobs;
    QSignalSpy finished(&jobs, &Jobs::finished), failed(&jobs, &Jobs::failed);
    jobs.start(Lane::file, QStringLiteral("Showing it"), quick([] { throw std::runtime_error("no room"); }));
    settle(jobs);
    ASSERT_EQ(failed.size(), 1);
    const auto failure = failed[0][1].value<Failure>();
    EXPECT_EQ(failure.doing, QStringLiteral("Showing it"));
    EXPECT_EQ(failure.facts.problem, "no room");
    ASSERT_EQ(finished.size(), 1);
    EXPECT_EQ(finished[0][0].value<Lane>(), Lane::file);
    bool delivered = false;
    jobs.start(Lane::file, {}, quick([&] { delivered = true; }));
    settle(jobs);
    EXPECT_TRUE(delivered);
}

TEST(Jobs, WorkThatThrowsFails) {
    Jobs jobs;
    QSignalSpy finished(&jobs, &Jobs::finished), failed(&jobs, &Jobs::failed);
    jobs.start(Lane::file, {}, [](const CancelToken&, const Progress&) -> Jobs::Deliver { throw std::bad_alloc(); });
    settle(jobs);
    ASSERT_EQ(failed.size(), 1);
    EXPECT_EQ(failed[0][1].value<Failure>().facts.problem, "There is not enough memory");
    EXPECT_EQ(finished.size(), 1);
}

TEST(Jobs, ACancelledJobFreesItsLaneAtOnceAndDeliversNothing) {
    Jobs jobs;
    QSignalSpy finished(&jobs, &Jobs::finished), failed(&jobs, &Jobs::failed);
    std::atomic<int> begun = 0, ended = 0;
    jobs.start(Lane::model, {}, until_cancelled(begun, ended));
    ASSERT_TRUE(wait_for([&] { return begun == 1; }));
    jobs.cancel(Lane::model);
    EXPECT_TRUE(jobs.idle());
    EXPECT_EQ(finished.size(), 1);
    ASSERT_TRUE(wait_for([&] { return ended == 1; }));
    QTest::qWait(1);
    EXPECT_EQ(finished.size(), 1) << "once";
    EXPECT_TRUE(failed.isEmpty());
    // Also when its result is on the way already.
    bool delivered = false;
    std::atomic<bool> made = false;
    jobs.start(Lane::model, {}, [&](const CancelToken&, const Progress&) -> Jobs::Deliver {
        made = true;
        return [&] { delivered = true; };
    });
    while (!made) std::this_thread::yield();
    jobs.cancel(Lane::model);
    QTest::qWait(1);
    EXPECT_FALSE(delivered);
}

TEST(Jobs, AJobThatIsAskedToStopKeepsItsLaneUntilItHasEnded) {
    Jobs jobs;
    QSignalSpy finished(&jobs, &Jobs::finished), failed(&jobs, &Jobs::failed);
    std::atomic<bool> begun = false, may_end = false;
    std::atomic<int> written = 0;
    jobs.start(Lane::corpus, {}, [&](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
        begun = true;
        while (!cancel.cancelled() || !may_end) std::this_thread::yield();
        ++written;
        throw Cancelled();
    });
    ASSERT_TRUE(wait_for([&] { return begun.load(); }));
    jobs.ask_to_stop(Lane::corpus);
    QTest::qWait(1);
    EXPECT_TRUE(jobs.busy(Lane::corpus));
    EXPECT_TRUE(finished.isEmpty());
    may_end = true;
    ASSERT_TRUE(wait_for([&] { return !finished.isEmpty(); }));
    EXPECT_EQ(written, 1) << "before finished()";
    EXPECT_TRUE(jobs.idle());
    EXPECT_TRUE(failed.isEmpty());
    jobs.ask_to_stop(Lane::corpus);  // of a free lane: nothing
    QTest::qWait(1);
    EXPECT_EQ(finished.size(), 1);
}

TEST(Jobs, TheLastOfManyOvertakesTheOthers) {
    Jobs jobs;
    std::atomic<int> begun = 0, ended = 0;
    std::vector<int> delivered;
    jobs.start(Lane::picture, {}, until_cancelled(begun, ended));
    ASSERT_TRUE(wait_for([&] { return begun == 1; }));
    for (int i = 0; i < 5; ++i) jobs.start(Lane::picture, {}, quick([&, i] { delivered.push_back(i); }));
    settle(jobs);
    EXPECT_EQ(delivered, std::vector{4});
    EXPECT_EQ(ended, 1);
}

TEST(Jobs, ShortWorkInEveryLaneEndsWhileALongJobRuns) {
    for (const Lane longest : {Lane::model, Lane::texts, Lane::picture, Lane::fetch}) {
        Jobs jobs;
        std::atomic<int> begun = 0, ended = 0;
        jobs.start(longest, {}, until_cancelled(begun, ended));
        int others = 0, delivered = 0;
        const QMetaEnum lanes = QMetaEnum::fromType<Lane>();
        for (int i = 0; i < lanes.keyCount(); ++i) {
            if (Lane(lanes.value(i)) == longest) continue;
            ++others;
            jobs.start(Lane(lanes.value(i)), {}, quick([&] { ++delivered; }));
        }
        ASSERT_GT(others, 10);
        EXPECT_TRUE(wait_for([&] { return delivered == others; }));
        EXPECT_EQ(ended, 0);
        EXPECT_TRUE(jobs.busy(longest));
    }
}

TEST(Jobs, TheEndWaitsForRunningWorkAndDropsWhatWaits) {
    std::atomic<int> begun = 0, ended = 0;
    bool delivered = false;
    {
        Jobs jobs;
        jobs.start(Lane::texts, {}, until_cancelled(begun, ended));
        jobs.start(Lane::inspector, {}, until_cancelled(begun, ended));
        ASSERT_TRUE(wait_for([&] { return begun == 2; }));
        jobs.start(Lane::texts, {}, quick([&] { delivered = true; }));
    }
    EXPECT_EQ(ended, 2);
    QCoreApplication::processEvents();
    EXPECT_FALSE(delivered);
}

TEST(Jobs, StepsArriveOnlyWhileTheyMatter) {
    Jobs jobs;
    QSignalSpy steps(&jobs, &Jobs::progressed);
    jobs.start(Lane::texts, {}, [](const CancelToken&, const Progress& progress) -> Jobs::Deliver {
        progress({"Running", "text", 3, 9});
        return {};
    });
    settle(jobs);
    ASSERT_EQ(steps.size(), 1);
    const auto step = steps[0][1].value<ProgressStep>();
    EXPECT_EQ(step.unit, "text");
    EXPECT_EQ(step.done, 3);
    EXPECT_EQ(step.total, 9);
}

TEST(Jobs, ALaneRestartedByAFailureStaysBusy) {
    Jobs jobs;
    QSignalSpy finished(&jobs, &Jobs::finished);
    std::atomic<int> begun = 0, ended = 0;
    QObject::connect(&jobs, &Jobs::failed, [&](Lane lane) { jobs.start(lane, {}, until_cancelled(begun, ended)); });
    jobs.start(Lane::file, {}, [](const CancelToken&, const Progress&) -> Jobs::Deliver { throw std::runtime_error("once"); });
    ASSERT_TRUE(wait_for([&] { return begun == 1; }));
    EXPECT_TRUE(jobs.busy(Lane::file));
    EXPECT_EQ(finished.size(), 0);
    jobs.cancel(Lane::file);
    EXPECT_EQ(finished.size(), 1);
}

/// A file of weights that is cut short while a job reads it: the process lives, the job fails, and so does everything that
/// may have read the zeros until the file is closed. Opening a model goes on.
TEST(Jobs, WhatReadACutFileIsDropped) {
    Jobs jobs;
    BusGuard guard;
    QSignalSpy failed(&jobs, &Jobs::failed), lost(&guard, &BusGuard::lost);
    QTemporaryDir folder;
    const std::filesystem::path path = folder.filePath(QStringLiteral("model.safetensors")).toStdString();
    std::ofstream(path) << std::string(3 * 4096, 'x');
    auto file = io::MappedFile::open(path);
    std::filesystem::resize_file(path, 0);
    bool delivered = false;
    jobs.start(Lane::picture, QStringLiteral("Drawing"), [&](const CancelToken&, const Progress&) -> Jobs::Deliver {
        EXPECT_EQ(file->bytes()[5000], std::byte{0});
        return [&] { delivered = true; };
    });
    settle(jobs);
    ASSERT_EQ(failed.size(), 1);
    EXPECT_EQ(failed[0][1].value<Failure>().facts.file, path);
    ASSERT_TRUE(wait_for([&] { return !lost.isEmpty(); }));
    EXPECT_EQ(lost[0][0].toString().toStdString(), path);
    jobs.start(Lane::inspector, {}, quick([&] { delivered = true; }));
    settle(jobs);
    EXPECT_EQ(failed.size(), 2);
    EXPECT_FALSE(delivered);
    jobs.start(Lane::model, {}, quick([&] { delivered = true; }));
    settle(jobs);
    EXPECT_TRUE(delivered);
    jobs.forgive(io::MappedFile::blanked());
    jobs.start(Lane::inspector, {}, quick([] {}));
    settle(jobs);
    EXPECT_EQ(failed.size(), 2) << "the model that is open now was opened later";
    jobs.forgive(0);
    jobs.start(Lane::inspector, {}, quick([] {}));
    settle(jobs);
    EXPECT_EQ(failed.size(), 3);
    file.reset();
    jobs.start(Lane::inspector, {}, quick([] {}));
    settle(jobs);
    EXPECT_EQ(failed.size(), 3);
}

}  // namespace jobs_test
}  // namespace headlight::ui
