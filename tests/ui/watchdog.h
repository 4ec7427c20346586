// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>
#include <QElapsedTimer>
#include <QObject>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace headlight::ui {

inline constexpr double longest_ms = 250;

/// Time that a thread has spent runnable without a core, which says how busy the machine is and nothing about the thread.
class RunDelay {
public:
    RunDelay() : file_("/proc/thread-self/schedstat") {}
    double ms() {
        file_.clear();
        file_.seekg(0);
        std::int64_t computed = 0, waited = 0;
        return file_ >> computed >> waited ? double(waited) / 1e6 : 0;
    }

private:
    std::ifstream file_;
};

/// Measures how long the thread it lives in was away from the event loop, computing or blocked.
class Watchdog : public QObject {
public:
    Watchdog() {
        clock_.start();
        turn();
        startTimer(2);
    }
    /// Names what follows, and forgets what was.
    void begin(const std::string& step) {
        turn();
        step_ = step;
        longest_ = 0;
    }
    /// The longest gap since begin().
    double longest() {
        turn();
        return longest_;
    }
    void expect_calm() { EXPECT_LT(longest(), longest_ms) << step_; }

protected:
    void timerEvent(QTimerEvent*) override { turn(); }

private:
    void turn() {
        const double now = double(clock_.nsecsElapsed()) / 1e6, delay = delay_.ms();
        longest_ = std::max(longest_, now - last_ - (delay - last_delay_));
        last_ = now;
        last_delay_ = delay;
    }

    QElapsedTimer clock_;
    RunDelay delay_;
    double last_ = 0, last_delay_ = 0, longest_ = 0;
    std::string step_;
};

}  // namespace headlight::ui
