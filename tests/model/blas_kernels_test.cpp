// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/blas_kernels.h"

#include <gtest/gtest.h>

namespace headlight::model {
namespace {

TEST(BlasKernels, ProcessorsNewerThanOpenBlasGetTheirWideKernels) {
    const Processor zen5{"AuthenticAMD", 26, true}, zen4{"AuthenticAMD", 25, true}, xeon{"GenuineIntel", 6, true},
        laptop{"GenuineIntel", 6, false};
    EXPECT_EQ(better_blas_kernels(zen5, "Haswell"), "SkylakeX");
    EXPECT_EQ(better_blas_kernels(zen5, "Zen"), "SkylakeX");
    EXPECT_EQ(better_blas_kernels(xeon, "Haswell"), "SkylakeX");
    EXPECT_EQ(better_blas_kernels(zen4, "Zen"), "") << "512-bit operations are split in two";
    EXPECT_EQ(better_blas_kernels(laptop, "Haswell"), "") << "has no AVX-512";
    EXPECT_EQ(better_blas_kernels(xeon, "Cooperlake"), "") << "has them";
    EXPECT_EQ(better_blas_kernels(zen5, ""), "") << "not an OpenBLAS";
}

TEST(BlasKernels, ThisMachineIsRead) {
#if defined(__x86_64__)
    EXPECT_FALSE(this_processor().vendor.empty());
    EXPECT_GT(this_processor().family, 0);
#endif
    EXPECT_EQ(blas_kernels().find(' '), std::string::npos);
}

}  // namespace
}  // namespace headlight::model
