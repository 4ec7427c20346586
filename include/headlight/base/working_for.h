// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <chrono>
#include <mutex>
#include <utility>

namespace headlight {

/// While one lives, work on this thread that is given no token can be cancelled by this one: reading a tensor may compute a
/// layer anew.
class WorkingFor {
public:
    explicit WorkingFor(CancelToken token) : before_(std::exchange(current(), std::move(token))) {}
    ~WorkingFor() { current() = std::move(before_); }
    WorkingFor(const WorkingFor&) = delete;
    WorkingFor& operator=(const WorkingFor&) = delete;

    static const CancelToken& token() { return current(); }  ///< of the innermost; never cancelled without one

private:
    static CancelToken& current() {
        thread_local CancelToken token;
        return token;
    }
    CancelToken before_;
};

/// Waits for the lock only as long as the work on this thread is wanted. `at_try` is called before each wait of 50 ms.
inline std::unique_lock<std::timed_mutex> lock_while_wanted(std::timed_mutex& mutex, auto&& at_try) {
    std::unique_lock lock(mutex, std::defer_lock);
    for (;;) {
        at_try();
        // Not try_lock_for(): GCC 12's thread sanitizer does not see a lock that is taken by the steady clock.
        if (lock.try_lock_until(std::chrono::system_clock::now() + std::chrono::milliseconds(50))) return lock;
        WorkingFor::token().throw_if_cancelled();
    }
}
inline std::unique_lock<std::timed_mutex> lock_while_wanted(std::timed_mutex& mutex) {
    return lock_while_wanted(mutex, [] {});
}

}  // namespace headlight
