// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <ATen/Parallel.h>
#include <omp.h>

namespace headlight::map {

/// While one lives, this thread computes its products alone: parallelism is over heads, and a product's last bits depend on the
/// number of threads.
class OneThread {
public:
    OneThread() {
        at::internal::lazy_init_num_threads();  // or the first product of a new thread sets its own number
        before_ = omp_get_max_threads();
        omp_set_num_threads(1);
    }
    ~OneThread() { omp_set_num_threads(before_); }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;

private:
    int before_ = 1;
};

}  // namespace headlight::map
