// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/blas_kernels.h"

#include <ATen/ATen.h>

#include <gtest/gtest.h>

namespace headlight::model {
namespace blas_kernels_test {

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

TEST(BlasKernels, OneDnnMultipliesWhereItWasSeenToBeFaster) {
    const Processor xeon{"GenuineIntel", 6, true}, laptop{"GenuineIntel", 6, false}, zen4{"AuthenticAMD", 25, true};
    EXPECT_TRUE(prefers_onednn(xeon, ""));
    EXPECT_FALSE(prefers_onednn(laptop, ""));
    EXPECT_TRUE(prefers_onednn(zen4, ""));
    EXPECT_TRUE(prefers_onednn(laptop, "onednn"));
    EXPECT_FALSE(prefers_onednn(zen4, "blas"));
    EXPECT_FALSE(prefers_onednn(xeon, "blas"));
    EXPECT_TRUE(prefers_onednn(xeon, "fast")) << "not a word it knows: as if nothing were said";
}

// Whoever multiplies: rows apart from each other, either operand turned, against the same sum in float64.
TEST(BlasKernels, ProductsEqualFloat64) {
    at::manual_seed(1);
    const at::Tensor wide = at::randn({70, 90}), a = wide.narrow(1, 3, 64);
    for (const at::Tensor& b : {at::randn({64, 33}), at::randn({33, 64}).t(), at::randn({64, 50}).narrow(1, 4, 33),
                                at::randn({40, 66}).narrow(1, 0, 64).t(), at::randn({64, 66}).slice(1, 0, 66, 2)}) {
        const at::Tensor expected = at::mm(a.to(at::kDouble), b.to(at::kDouble)), found = matrix_product(a, b);
        EXPECT_LT((found.to(at::kDouble) - expected).abs().max().item<double>(), 2e-6 * expected.abs().max().item<double>());
    }
    const at::Tensor rows = at::randn({3, 20}), vocabulary = at::randn({9000, 20});  // as wide as an unembedding
    EXPECT_LT((matrix_product(rows, vocabulary.t()) - at::mm(rows, vocabulary.t())).abs().max().item<float>(), 2e-5F);
    EXPECT_LT((matrix_product(rows, vocabulary.t().contiguous()) - at::mm(rows, vocabulary.t())).abs().max().item<float>(),
              2e-5F);
    const at::Tensor bias = at::randn({33}), b = at::randn({64, 33});
    EXPECT_LT((matrix_product(a, b, bias) - at::addmm(bias, a, b)).abs().max().item<float>(), 2e-5F);
    EXPECT_TRUE(matrix_product(a, b, at::randn({33}).requires_grad_(true)).requires_grad());
    const at::Tensor exact = matrix_product(a.to(at::kDouble), at::ones({64, 2}, at::kDouble));
    EXPECT_LT((exact.select(1, 0) - a.to(at::kDouble).sum(1)).abs().max().item<double>(), 1e-13);
    at::Tensor leaf = at::randn({64, 3}).requires_grad_(true);
    EXPECT_TRUE(matrix_product(a, leaf).requires_grad()) << "gradients go through it";
    EXPECT_TRUE(matrix_product(a, at::full({64, 2}, std::numeric_limits<float>::quiet_NaN())).isnan().all().item<bool>());
}

TEST(BlasKernels, ThisMachineIsRead) {
#if defined(__x86_64__)
    EXPECT_FALSE(this_processor().vendor.empty());
    EXPECT_GT(this_processor().family, 0);
#endif
    EXPECT_EQ(blas_kernels().find(' '), std::string::npos);
}

}  // namespace blas_kernels_test
}  // namespace headlight::model
