// SPDX-License-Identifier: GPL-3.0-or-later
// Jobs by themselves, and what the status strip shows of them.
#include "ui/jobs/jobs.h"
#include "ui/panels/status/status_strip.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include <atomic>
#include <thread>

namespace headlight::ui {
namespace jobs_test {

using Lane = Jobs::Lane;

/// Waits for its cancel token, as a long job does.
Jobs::Work until_cancelled(std::atomic<int>& begun, std::atomic<int>& ended) {
    return [&](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
        ++begun;
        while (!cancel.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++ended;
        throw Cancelled();
    };
}

Jobs::Work quick(std::function<void()> deliver) {
    return [deliver](const CancelToken&, const Progress&) -> Jobs::Deliver { return deliver; };
}

/// Lets what `jobs` has queued arrive, also where nothing is expected.
void settle(Jobs& jobs) {
    ASSERT_TRUE(QTest::qWaitFor([&] { return jobs.idle(); }, 30'000));
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
    ASSERT_TRUE(QTest::qWaitFor([&] { return begun == 1; }));
    jobs.cancel(Lane::model);
    EXPECT_TRUE(jobs.idle());
    EXPECT_EQ(finished.size(), 1);
    ASSERT_TRUE(QTest::qWaitFor([&] { return ended == 1; }));
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

TEST(Jobs, TheLastOfManyOvertakesTheOthers) {
    Jobs jobs;
    std::atomic<int> begun = 0, ended = 0;
    std::vector<int> delivered;
    jobs.start(Lane::picture, {}, until_cancelled(begun, ended));
    ASSERT_TRUE(QTest::qWaitFor([&] { return begun == 1; }));
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
        EXPECT_TRUE(QTest::qWaitFor([&] { return delivered == others; }));
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
        ASSERT_TRUE(QTest::qWaitFor([&] { return begun == 2; }));
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

TEST(StatusStrip, CountsWhatIsDone) {
    Jobs jobs;
    Document document(jobs, {});
    StatusStrip strip(document, jobs);
    strip.show();
    jobs.start(Lane::picture, QStringLiteral("Refinement"),
               [](const CancelToken& cancel, const Progress& progress) -> Jobs::Deliver {
                   progress({"Refinement", "layer", 12, 30});
                   while (!cancel.cancelled()) std::this_thread::yield();
                   cancel.throw_if_cancelled();
                   return {};
               });
    EXPECT_TRUE(QTest::qWaitFor([&] { return strip.text() == QStringLiteral("Refinement: layer 12 of 30"); }))
        << strip.text().toStdString();
    EXPECT_TRUE(QTest::qWaitFor([&] { return strip.cancel_button().isVisible(); }));
    strip.cancel_button().click();
    EXPECT_FALSE(jobs.busy(Lane::picture));
}

TEST(StatusStrip, ShowsTheNewestJobAndThenTheEarlierOneAgain) {
    Jobs jobs;
    Document document(jobs, {});
    StatusStrip strip(document, jobs);
    strip.show();
    std::atomic<int> begun = 0, ended = 0;
    jobs.start(Lane::texts, QStringLiteral("Running the texts"), until_cancelled(begun, ended));
    const auto shows = [&](const char* what) {
        return QTest::qWaitFor([&] { return strip.bar().isVisible() && strip.text().startsWith(QLatin1String(what)); });
    };
    EXPECT_TRUE(shows("Running the texts"));
    EXPECT_TRUE(strip.cancel_button().isVisible());
    jobs.start(Lane::picture, QStringLiteral("Drawing"), until_cancelled(begun, ended));
    EXPECT_TRUE(shows("Drawing"));
    jobs.start(Lane::inspector, QStringLiteral("Computing details"), until_cancelled(begun, ended));
    EXPECT_TRUE(shows("Drawing")) << "the inspector shows its own progress";
    strip.cancel_button().click();
    EXPECT_FALSE(jobs.busy(Lane::picture));
    EXPECT_TRUE(jobs.busy(Lane::texts)) << "Cancel ends what is shown";
    EXPECT_TRUE(shows("Running the texts"));
    strip.cancel_button().click();
    EXPECT_FALSE(jobs.busy(Lane::texts));
    EXPECT_FALSE(strip.bar().isVisible());
    EXPECT_FALSE(strip.cancel_button().isVisible());
}

TEST(StatusStrip, AnOlderJobThatEndsLeavesTheNewestOne) {
    Jobs jobs;
    Document document(jobs, {});
    StatusStrip strip(document, jobs);
    strip.show();
    std::atomic<int> begun = 0, ended = 0;
    jobs.start(Lane::texts, QStringLiteral("Running the texts"), until_cancelled(begun, ended));
    jobs.start(Lane::file, QStringLiteral("Exporting"), [&](const CancelToken& cancel, const Progress& progress) {
        progress({"Writing", "page", 1, 4});
        return until_cancelled(begun, ended)(cancel, progress);
    });
    ASSERT_TRUE(QTest::qWaitFor([&] { return strip.bar().isVisible() && strip.bar().maximum() == 4; }));
    EXPECT_EQ(strip.text(), QStringLiteral("Writing: page 1 of 4"));
    jobs.cancel(Lane::texts);
    EXPECT_TRUE(strip.bar().isVisible());
    EXPECT_EQ(strip.text(), QStringLiteral("Writing: page 1 of 4"));
    jobs.cancel(Lane::file);
    EXPECT_FALSE(strip.bar().isVisible());
}

}  // namespace jobs_test
}  // namespace headlight::ui
