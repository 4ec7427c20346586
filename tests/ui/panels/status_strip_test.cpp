// SPDX-License-Identifier: GPL-3.0-or-later
// What the status strip shows of several jobs.
#include "ui/panels/status/status_strip.h"

#include "ui/jobs/jobs.h"
#include "ui/jobs/waiting_job.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace headlight::ui {
namespace status_strip_test {

using Lane = Jobs::Lane;

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
    EXPECT_TRUE(wait_for([&] { return strip.text() == QStringLiteral("Refinement: layer 12 of 30"); }))
        << strip.text().toStdString();
    EXPECT_TRUE(wait_for([&] { return strip.cancel_button().isVisible(); }));
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
        return wait_for([&] { return strip.bar().isVisible() && strip.text().startsWith(QLatin1String(what)); });
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
    ASSERT_TRUE(wait_for([&] { return strip.bar().isVisible() && strip.bar().maximum() == 4; }));
    EXPECT_EQ(strip.text(), QStringLiteral("Writing: page 1 of 4"));
    jobs.cancel(Lane::texts);
    EXPECT_TRUE(strip.bar().isVisible());
    EXPECT_EQ(strip.text(), QStringLiteral("Writing: page 1 of 4"));
    jobs.cancel(Lane::file);
    EXPECT_FALSE(strip.bar().isVisible());
}

}  // namespace status_strip_test
}  // namespace headlight::ui
