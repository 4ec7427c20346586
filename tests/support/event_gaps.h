// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QObject>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace headlight::test {

/// Milliseconds for which the thread it lives in has computed or was blocked, without those it waited for a core: they say how
/// busy the machine is and nothing about the thread.
class OwnTime {
public:
    OwnTime() { clock_.start(); }
    double ms() {
        file_.clear();
        file_.seekg(0);
        std::int64_t computed = 0, waited = 0;
        const double delay = file_ >> computed >> waited ? double(waited) / 1e6 : 0;
        return double(clock_.nsecsElapsed()) / 1e6 - delay;
    }

private:
    QElapsedTimer clock_;
    std::ifstream file_{"/proc/thread-self/schedstat"};
};

/// Measures how long the thread it lives in was away from the event loop, computing or blocked.
class EventGaps : public QObject {
public:
    EventGaps() {
        turn();
        startTimer(2);
    }
    /// Forgets what was.
    void begin() {
        turn();
        longest_ = 0;
    }
    /// The longest gap since begin(), in ms.
    double longest() {
        turn();
        return longest_;
    }

protected:
    void timerEvent(QTimerEvent*) override { turn(); }

private:
    void turn() {
        const double now = clock_.ms();
        longest_ = std::max(longest_, now - last_);
        last_ = now;
    }

    OwnTime clock_;
    double last_ = 0, longest_ = 0;
};

}  // namespace headlight::test
