// SPDX-License-Identifier: GPL-3.0-or-later
// A window with its page of sweeps open.
#pragma once

#include "headlight/figure/picture/picture_file.h"
#include "tests/ui/window_fixture.h"
#include "ui/sweep/sweep_window.h"

#include <QSettings>

#include <algorithm>
#include <cmath>

namespace headlight::ui {

class SweepPage : public WindowTest {
protected:
    void TearDown() override { QSettings().remove(QStringLiteral("export")); }
    void SetUp() override {
        WindowTest::SetUp();
        window.action(Command::sweep).trigger();
        ASSERT_TRUE(window.sweeps());
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window.sweeps(), longest_wait_ms));
    }
    SweepWindow& page() { return *window.sweeps(); }
    SweepForm& form() { return page().form(); }
    bool forecast() {
        return wait_for([&] { return !page().forecast().text().isEmpty(); });
    }
    bool done() {
        return wait_for([&] { return window.jobs().idle() && page().result() && page().canvas().shown(); });
    }
    bool sweep() {
        page().start_button().click();
        return done();
    }
    /// The page's numbers are the engine's, and some are not 0.
    void expect_shown(const intervention::SweepResult& expected) {
        ASSERT_EQ(page().result()->results.size(), expected.results.size());
        double most = 0;
        for (std::size_t i = 0; i < expected.results.size(); ++i) {
            EXPECT_NEAR(page().result()->results[i].effect, expected.results[i].effect, 1e-5) << i;
            most = std::max(most, std::abs(expected.results[i].effect));
        }
        EXPECT_GT(most, 1e-4);
    }
    /// Sweeps once more; the numbers are the engine's for the page's pairs.
    void sweep_as_the_engine() {
        const auto old = page().result();
        page().start_button().click();
        ASSERT_TRUE(wait_for([&] { return window.jobs().idle() && page().result() != old && page().result()->complete; }))
            << page().message().text().toStdString();
        const OpenModel& opened = window.document().model();
        intervention::SweepRequest asked = form().request();
        if (!asked.over.empty()) asked.options.over = texts_over(asked, *opened.model, *opened.tokenizer, figure::read_picture);
        expect_shown(run_sweep(opened.model, page().sweep()->pairs(), asked.options));
    }
    /// The middle of a cell on screen.
    QPoint place(const intervention::SweepCell& cell) {
        const auto index = std::ranges::find(page().result()->cells, cell) - page().result()->cells.begin();
        const QSize room = page().canvas().viewport()->size();
        for (int y = 2; y < room.height(); y += 3)
            for (int x = 2; x < room.width(); x += 3) {
                const figure::Hit hit = page().canvas().hit_at(QPointF(x, y));
                if (hit.options == std::vector<std::pair<std::string, std::string>>{{"cell", std::to_string(index)}})
                    return {x, y};
            }
        return {};
    }
    void press(const intervention::SweepCell& cell) {
        QTest::mouseClick(page().canvas().viewport(), Qt::LeftButton, {}, place(cell));
    }
};

}  // namespace headlight::ui
