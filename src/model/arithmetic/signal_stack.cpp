// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/signal_stack.h"

#include <ATen/Parallel.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace headlight::model {
namespace {

/// Frames of AVX-512 take 4 KB; with AMX 12 KB.
constexpr std::size_t kSignalStack = 64 << 10;

class SignalStack {
public:
    SignalStack() {
        stack_t now{};
        if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;  // there is one already
        memory_ = std::make_unique<std::byte[]>(kSignalStack);
        now = {};
        now.ss_sp = memory_.get();
        now.ss_size = kSignalStack;
        if (::sigaltstack(&now, nullptr) != 0) memory_.reset();
    }
    ~SignalStack() {
        if (!memory_) return;
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        ::sigaltstack(&none, nullptr);
    }
    SignalStack(const SignalStack&) = delete;
    SignalStack& operator=(const SignalStack&) = delete;

private:
    std::unique_ptr<std::byte[]> memory_;
};

void of_this_thread() { thread_local const SignalStack stack; }

}  // namespace

void have_signal_stack() {
    of_this_thread();
    thread_local bool team = false;
    if (team || at::in_parallel_region()) return;
    team = true;
    const int threads = at::get_num_threads();
    at::parallel_for(0, threads, 1, [](std::int64_t, std::int64_t) { of_this_thread(); });
}

}  // namespace headlight::model
