// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <cstddef>
#include <functional>

namespace headlight::map {

/// Calls work(i) for each i from next(i) until it returns false, on the given number of threads (0: one per core), at most
/// `count`; the first exception stops the others and is rethrown.
void in_parallel(int threads, std::size_t count, const CancelToken&, const std::function<bool(std::size_t&)>& next,
                 const std::function<void(std::size_t)>& work);
/// work(0) ... work(count - 1).
void in_parallel(int threads, std::size_t count, const CancelToken&, const std::function<void(std::size_t)>& work);

}  // namespace headlight::map
