// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/blas_kernels.h"
#include "headlight/base/working_for.h"
#include "headlight/model/runtime.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <string>

namespace headlight::model {
namespace blas_kernels_test {

TEST(BlasKernels, OneDnnMultipliesWithAvx512UnlessTheUserChose) {
    for (const bool avx512 : {true, false}) {
        EXPECT_EQ(prefers_onednn(avx512, ""), avx512);
        EXPECT_EQ(prefers_onednn(avx512, "fast"), avx512) << "an unknown word is no choice";
        EXPECT_TRUE(prefers_onednn(avx512, "onednn"));
        EXPECT_FALSE(prefers_onednn(avx512, "blas"));
    }
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

TEST(BlasKernels, TheRateOfProductsIsMeasuredOnce) {
    EXPECT_GT(product_rate(), 1e6);
    EXPECT_EQ(product_rate(), product_rate());
}

TEST(BlasKernels, ALongProductEndsWhereItIsNoLongerWanted) {
    // In two parts, and none of them where the work was cancelled.
    const at::Tensor a = at::rand({2560, 2048}), b = at::rand({2048, 2048}), whole = matrix_product(a, b);
    EXPECT_LT((whole - at::mm(a, b)).abs().max().item<float>(), 2e-3F);
    const CancelToken token;
    const WorkingFor work(token);
    EXPECT_TRUE(at::equal(matrix_product(a, b), whole));
    token.cancel();
    EXPECT_THROW(matrix_product(a, b), Cancelled);
    EXPECT_THROW(matrix_product(a, b, at::rand({2048})), Cancelled);
    EXPECT_THROW(matrix_product(a.to(at::kDouble), b.to(at::kDouble), at::rand({2048}, at::kDouble)), Cancelled);
    EXPECT_NO_THROW(matrix_product(a.narrow(0, 0, 64), b)) << "too short to ask";
}

/// Against what the system says of the processor.
TEST(BlasKernels, Avx512IsSeenWhereItIs) {
    std::ifstream file("/proc/cpuinfo");
    std::string flags;
    for (std::string line; flags.empty() && std::getline(file, line);)
        if (line.starts_with("flags")) flags = line + " ";
    if (flags.empty()) GTEST_SKIP() << "not an x86 processor, or no /proc";
    bool all = true;
    for (const char* flag : {" avx512f ", " avx512dq ", " avx512bw ", " avx512vl "}) all &= flags.find(flag) != std::string::npos;
    EXPECT_EQ(has_avx512(), all);
}

/// oneDNN's kernels compute with the stack register on the heap: a handler on the thread's stack would write before their
/// workspace.
TEST(BlasKernels, ThreadsThatComputeHaveAStackForSignals) {
    if (product_library() != "oneDNN") GTEST_SKIP() << "this processor has no AVX-512, or the BLAS was chosen";
    matrix_product(at::ones({20, 64}), at::ones({64, 64}));
    std::atomic<int> without = 0;
    at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t, std::int64_t) {
        stack_t now{};
        without += ::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) != 0;
    });
    EXPECT_EQ(without, 0);
}

}  // namespace blas_kernels_test
}  // namespace headlight::model
