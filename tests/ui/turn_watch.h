// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractEventDispatcher>
#include <QObject>

#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>

namespace headlight::ui {

/// Finds turns of the event loop that compute for long: processor time of the thread it lives in, so a busy machine does not
/// count. Of a turn beyond `limit` seconds it prints where the thread is, and what it was last told to do.
class TurnWatch : public QObject {
public:
    explicit TurnWatch(double limit) : limit_(limit), thread_(::pthread_self()) {
        void* warm_up[1];
        ::backtrace(warm_up, 1);  // loads what a handler must not load
        struct sigaction action {};
        action.sa_handler = print_place;
        action.sa_flags = SA_RESTART;
        ::sigaction(SIGUSR2, &action, nullptr);
        ::pthread_getcpuclockid(thread_, &clock_);
        auto* loop = QAbstractEventDispatcher::instance();
        connect(loop, &QAbstractEventDispatcher::awake, this, [this] { turn(); });
        connect(loop, &QAbstractEventDispatcher::aboutToBlock, this, [this] { turn(); });
        began_ = used();
        watcher_ = std::thread([this] { watch(); });
    }
    ~TurnWatch() override {
        ends_ = true;
        watcher_.join();
        std::signal(SIGUSR2, SIG_IGN);
    }

    /// Names what the next turns do.
    void begin(const std::string& step) {
        turn();
        std::snprintf(step_, sizeof step_, "%s", step.c_str());
    }
    /// Seconds of the longest turn, and what it did.
    double longest() {
        turn();
        return longest_;
    }
    const std::string& longest_step() const { return longest_step_; }
    int too_long() const { return too_long_; }

private:
    double used() const {
        timespec time{};
        ::clock_gettime(clock_, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
    void turn() {
        const double now = used(), took = now - began_;
        began_ = now;
        ++turn_;
        if (took > limit_) ++too_long_;
        if (took <= longest_) return;
        longest_ = took;
        longest_step_ = step_;
    }
    void watch() {
        std::uint64_t printed = 0;
        double next = limit_;
        while (!ends_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            const std::uint64_t turn = turn_;
            const double took = used() - began_;
            if (turn != printed) next = limit_;
            if (took < next || turn != turn_) continue;
            printed = turn;
            next *= 2;  // where it still is
            ::pthread_kill(thread_, SIGUSR2);
        }
    }
    static void print_place(int) {
        void* frames[64];
        const int count = ::backtrace(frames, 64);
        constexpr char head[] = "a long turn of the event loop, in: ";
        [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, head, sizeof head - 1);
        written = ::write(STDERR_FILENO, step_, std::strlen(step_));
        written = ::write(STDERR_FILENO, "\n", 1);
        ::backtrace_symbols_fd(frames, count, STDERR_FILENO);
    }

    inline static char step_[200] = "";
    double limit_;
    pthread_t thread_;
    clockid_t clock_{};
    std::atomic<double> began_ = 0;
    std::atomic<std::uint64_t> turn_ = 1;
    std::atomic<bool> ends_ = false;
    double longest_ = 0;
    std::string longest_step_;
    int too_long_ = 0;
    std::thread watcher_;
};

}  // namespace headlight::ui
