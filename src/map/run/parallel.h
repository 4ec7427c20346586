// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <cstddef>
#include <functional>

namespace headlight::map {

/// Calls work(i) with what next(i) gives until it is false, on so many threads (0: one for each core), at most `count`; the first
/// exception ends the others and is thrown.
void in_parallel(int threads, std::size_t count, const CancelToken&, const std::function<bool(std::size_t&)>& next,
                 const std::function<void(std::size_t)>& work);
/// work(0) ... work(count - 1).
void in_parallel(int threads, std::size_t count, const CancelToken&, const std::function<void(std::size_t)>& work);

}  // namespace headlight::map
