// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <exception>

namespace headlight::figure {

/// work(0) ... work(count - 1), each as soon as a thread is free. The first exception arrives at the caller when the others
/// have ended: none may leave an OpenMP loop, it would end the program.
template <class Work>
void in_parallel(std::size_t count, bool worth_it, Work work) {
    std::exception_ptr thrown;
#pragma omp parallel for schedule(dynamic) if (worth_it && count > 1)
    for (std::size_t i = 0; i < count; ++i) {
        try {
            work(i);
        } catch (...) {
#pragma omp critical(headlight_figure_in_parallel)
            if (!thrown) thrown = std::current_exception();
        }
    }
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace headlight::figure
