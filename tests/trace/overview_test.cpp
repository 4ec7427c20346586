// SPDX-License-Identifier: GPL-3.0-or-later
// The pooled maps of a run against its patterns.
#include "tests/trace/novella.h"

#include <gtest/gtest.h>

namespace headlight::trace {
namespace overview_test {

using namespace testing_support;

TEST(Overview, PooledMapsAreThoseOfThePatterns) {
    std::string text;
    for (int i = 0; i < 300; ++i) text += i % 3 == 0 ? " the" : i % 4 == 1 ? " river" : " ran";
    const auto trace = Novella::get().run(text);
    const std::int64_t n = trace->tokens();
    const at::Tensor pattern = tensor(*trace, {model::Hook::pattern, Layer(4)})[7];
    const PooledPattern& pooled = trace->pooled(Layer(4), Head(7));
    ASSERT_EQ(pooled.rows, 128);
    for (std::int64_t r = 0; r < 128; r += 5) {
        for (std::int64_t c = 0; c <= r; c += 3) {
            const std::int64_t i0 = r * n / 128, i1 = (r + 1) * n / 128, j0 = c * n / 128, j1 = (c + 1) * n / 128;
            const at::Tensor cell = pattern.narrow(0, i0, i1 - i0).narrow(1, j0, j1 - j0);
            const double legal = at::tril(at::ones({n, n})).narrow(0, i0, i1 - i0).narrow(1, j0, j1 - j0).sum().item<double>();
            const auto at = static_cast<std::size_t>(r * 128 + c);
            EXPECT_EQ(pooled.max[at], cell.max().item<float>()) << r << ", " << c;
            EXPECT_NEAR(static_cast<double>(pooled.mean[at]), cell.sum().item<double>() / legal, 1e-6) << r << ", " << c;
        }
    }
    EXPECT_EQ(pooled.max[127], 0.0F);  // the future
}

}  // namespace overview_test
}  // namespace headlight::trace
