// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

namespace headlight {

/// Thrown by work that saw its token cancelled. Not an Error: nothing is wrong.
class Cancelled : public std::exception {
public:
    const char* what() const noexcept override { return "cancelled"; }
};

/// A flag shared by the one who asks for work and the one who does it. Copies share the flag.
class CancelToken {
public:
    CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
    void cancel() const noexcept { flag_->store(true, std::memory_order_relaxed); }
    bool cancelled() const noexcept { return flag_->load(std::memory_order_relaxed); }
    void throw_if_cancelled() const {
        if (cancelled()) throw Cancelled();
    }

private:
    std::shared_ptr<std::atomic<bool>> flag_;
};

/// "layer 7 of 12": the work, how far it is, and in which unit.
struct ProgressStep {
    std::string what;  ///< "Loading", "Running"
    std::string unit;  ///< "layer", "tensor", "sentence"
    std::int64_t done = 0;
    std::int64_t total = 0;  ///< 0: not known
};

/// Called from the working thread. May be empty.
using Progress = std::function<void(const ProgressStep&)>;

}  // namespace headlight
