// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/event_gaps.h"

#include <gtest/gtest.h>

#include <string>

namespace headlight::ui {

inline constexpr double longest_ms = 250;

/// Watches that the thread it lives in returns to the event loop.
class Watchdog {
public:
    /// Names what follows, and forgets what was.
    void begin(const std::string& step) {
        gaps_.begin();
        step_ = step;
    }
    double longest() { return gaps_.longest(); }
    void expect_calm() { EXPECT_LT(longest(), longest_ms) << step_; }

private:
    test::EventGaps gaps_;
    std::string step_;
};

}  // namespace headlight::ui
