// SPDX-License-Identifier: GPL-3.0-or-later
// The softmax of one row: against float64, and what it says about the row's logarithms.
#include "model/arithmetic/kernels.h"
#include "model/run/forward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace headlight::model {
namespace softmax_test {

constexpr float kNone = -std::numeric_limits<float>::infinity();

std::vector<float> scores(std::size_t n, double spread) {
    std::vector<float> out;
    for (std::size_t j = 0; j < n; ++j)
        out.push_back(static_cast<float>(spread * std::sin(0.37 * static_cast<double>(j * j + 1))));
    return out;
}

struct Expected {
    std::vector<double> p;
    double sink = 0, plogp = 0;
};

Expected expected_of(const std::vector<float>& x, float sink) {
    Expected out;
    const double highest = static_cast<double>(std::max(sink, *std::ranges::max_element(x)));
    const double beside = std::exp(static_cast<double>(sink) - highest);
    double sum = beside;
    for (const float v : x) sum += out.p.emplace_back(std::exp(static_cast<double>(v) - highest));
    for (double& p : out.p) {
        p /= sum;
        if (p > 0) out.plogp += p * std::log(p);
    }
    out.sink = beside / sum;
    return out;
}

TEST(Softmax, IsThatOfFloat64WithItsLogarithms) {
    for (const std::size_t n : {1, 2, 15, 17, 300, 1024, 1025, 40'000})
        for (const double spread : {0.0, 0.5, 8.0, 300.0})
            for (const float sink : {kNone, 1.5F}) {
                SCOPED_TRACE(testing::Message() << n << " scores of " << spread << ", sink " << sink);
                std::vector<float> x = scores(n, spread);
                if (n > 20) x[n / 2] = x[7] = kNone;  // keys that a bias forbids
                const Expected expected = expected_of(x, sink);
                std::vector<float> plain = x;
                plain.insert(plain.end(), 3, 7.0F);
                x = plain;
                RowLogs logs;
                const auto count = static_cast<std::int64_t>(n);
                const float share = kernels::softmax(x.data(), count, count + 3, sink, &logs);
                EXPECT_NEAR(static_cast<double>(share), expected.sink, 1e-6);
                EXPECT_EQ(kernels::softmax(plain.data(), count, count + 3, sink), share);
                double sum = 0;
                for (std::size_t j = 0; j < n; ++j) {
                    // 1,024 floats are summed one by one where a build has no vectors.
                    EXPECT_NEAR(static_cast<double>(x[j]), expected.p[j], 1e-5 * expected.p[j] + 1e-37) << j;
                    EXPECT_EQ(std::bit_cast<std::uint32_t>(x[j]), std::bit_cast<std::uint32_t>(plain[j])) << j;
                    sum += static_cast<double>(x[j]);
                }
                for (std::size_t j = n; j < n + 3; ++j) EXPECT_EQ(x[j], 0.0F);
                EXPECT_NEAR(logs.weighted + logs.factor * sum, expected.plogp, 1e-5 * std::max(1.0, std::abs(expected.plogp)));
            }
}

TEST(Softmax, OfNoKeyIsTheSinks) {
    float x[2] = {5, 5};
    RowLogs logs;
    EXPECT_EQ(kernels::softmax(x, 0, 2, 0.25F, &logs), 1.0F);
    EXPECT_EQ(x[0], 0.0F);
    EXPECT_EQ(x[1], 0.0F);
    EXPECT_EQ(logs.weighted, 0);
    EXPECT_EQ(logs.factor, 0);
}

#if defined(__SSE__)
TEST(Softmax, FadesToZeroWithoutDenormalNumbers) {
    constexpr std::int64_t kTokens = 400, kWidth = 8;
    AttentionInput in{.q = at::zeros({1, kTokens, kWidth}),
                      .k = at::zeros({1, kTokens, kWidth}),
                      .alibi_slopes = at::full({1}, 0.25, at::kDouble)};
    const at::Tensor pattern = pattern_tile(in, 0, 1, 0, kTokens);
    constexpr float kLeast = std::numeric_limits<float>::min();
    EXPECT_GT(pattern.lt(2 * kLeast).logical_and(pattern.gt(0)).sum().item<std::int64_t>(), 0);
    EXPECT_EQ(pattern.lt(kLeast).logical_and(pattern.gt(0)).sum().item<std::int64_t>(), 0);
    EXPECT_LE((pattern.sum(2) - 1).abs().max().item<float>(), 1e-6F);
    volatile float least = kLeast;
    EXPECT_GT(least * 0.5F, 0.0F) << "the caller's arithmetic is what it was";
}
#endif

}  // namespace softmax_test
}  // namespace headlight::model
