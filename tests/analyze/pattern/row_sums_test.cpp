// SPDX-License-Identifier: GPL-3.0-or-later
// Sums and searches over a row of a pattern, many floats at a time, against plain loops.
#include "analyze/pattern/row_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace headlight::analyze {
namespace row_sums_test {

TEST(RowSums, AreThoseOfPlainLoopsAtAnyLength) {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> weight(0, 1);
    std::vector<float> row(1500);
    std::vector<double> shares(row.size());
    for (float& w : row) w = weight(random);
    for (double& share : shares) share = static_cast<double>(weight(random));
    for (const std::int64_t n : {1, 2, 15, 16, 17, 127, 128, 129, 255, 257, 300, 1100}) {
        for (const std::int64_t first : {0, 3, 200}) {
            SCOPED_TRACE(testing::Message() << n << " from " << first);
            const float* const x = row.data() + first;
            double sum = 0, weighted = 0;
            for (std::int64_t j = 0; j < n; ++j) {
                sum += static_cast<double>(x[j]);
                weighted += shares[static_cast<std::size_t>(j)] * static_cast<double>(x[j]);
            }
            EXPECT_NEAR(weight_on(row.data(), {first, first + n}), sum, 1e-6 * sum);
            EXPECT_NEAR(weighted_sum(shares.data(), x, n), weighted, 1e-12 * weighted);
            EXPECT_EQ(largest_key(row.data(), {first, first + n}), std::max_element(x, x + n) - row.data());
            for (const std::int64_t j : {std::int64_t{0}, n / 2, n - 1}) EXPECT_TRUE(has(x, n, x[j])) << j;
            EXPECT_FALSE(has(x, n, x[n])) << "the weight behind them";
            EXPECT_FALSE(has(x, n, 2.0F));
        }
    }
    EXPECT_FALSE(has(row.data(), 0, row[0]));
}

TEST(RowSums, OfEqualWeightsTheFirstIsTheLargest) {
    std::vector<float> row(40, 0.25F);
    row[3] = 0.1F;
    EXPECT_EQ(largest_key(row.data(), {3, 40}), 4);
    EXPECT_EQ(largest_key(row.data(), {0, 40}), 0);
}

}  // namespace row_sums_test
}  // namespace headlight::analyze
