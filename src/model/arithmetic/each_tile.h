// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <ATen/Parallel.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace headlight::model {

/// Calls work(tile, memory of the thread: `scratch` floats, not set) for each tile. Taken one by one: beside other programs the
/// threads are not equally fast.
template <class Work>
void for_each_tile(std::int64_t tiles, std::int64_t scratch, const Work& work) {
    std::atomic<std::int64_t> next = 0;
    at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
        const auto memory = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(scratch));
        for (std::int64_t index = next++; index < tiles; index = next++) work(index, memory.get());
    });
}

}  // namespace headlight::model
