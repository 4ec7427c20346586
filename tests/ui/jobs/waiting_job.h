// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/ui/wait.h"
#include "ui/jobs/jobs.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace headlight::ui {

/// Waits for its cancel token, as a long job does.
inline Jobs::Work until_cancelled(std::atomic<int>& begun, std::atomic<int>& ended) {
    return [&](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
        ++begun;
        while (!cancel.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ++ended;
        throw Cancelled();
    };
}

}  // namespace headlight::ui
