// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>

namespace headlight::figure {
namespace parallel_test {

TEST(Parallel, AnExceptionOfAnyThreadArrives) {
    for (const bool worth_it : {true, false}) {
        for (const std::size_t broken : {0U, 7U, 63U}) {
            std::atomic<int> done = 0;
            EXPECT_THROW(in_parallel(64, worth_it,
                                     [&](std::size_t i) {
                                         if (i == broken) throw std::bad_alloc();
                                         ++done;
                                     }),
                         std::bad_alloc);
            EXPECT_EQ(done, 63) << "the others were not done";
        }
    }
}

}  // namespace parallel_test
}  // namespace headlight::figure
