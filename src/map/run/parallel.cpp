// SPDX-License-Identifier: GPL-3.0-or-later
#include "map/run/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace headlight::map {

void in_parallel(int threads, std::size_t count, const CancelToken& cancel, const std::function<bool(std::size_t&)>& next,
                 const std::function<void(std::size_t)>& work) {
    const CancelToken stop;
    std::exception_ptr failed;
    std::mutex mutex;
    const auto loop = [&] {
        std::size_t i = 0;
        try {
            while (!stop.cancelled()) {
                cancel.throw_if_cancelled();  // before next(): every index taken gets its work
                if (!next(i)) break;
                work(i);
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failed) failed = std::current_exception();
            stop.cancel();
        }
    };
    if (threads <= 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    threads = static_cast<int>(std::min(static_cast<std::size_t>(threads), std::max<std::size_t>(1, count)));
    {
        std::vector<std::jthread> pool;
        for (int t = 0; t < threads; ++t) pool.emplace_back(loop);
    }
    if (failed) std::rethrow_exception(failed);
}

void in_parallel(int threads, std::size_t count, const CancelToken& cancel, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> at = 0;
    in_parallel(
        threads, count, cancel,
        [&](std::size_t& i) {
            i = at++;
            return i < count;
        },
        work);
}

}  // namespace headlight::map
