// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/projection/neighbours.h"

#include "tests/map/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace headlight::map {
namespace {

std::vector<float> random_rows(std::int64_t count, std::int64_t width, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> x(static_cast<std::size_t>(count * width));
    for (float& value : x) value = normal(random);
    return x;
}

TEST(Neighbours, AreThoseOfScikitLearnsDistances) {
    const NeighbourLists lists = nearest_rows(golden::points(), 36);
    EXPECT_EQ(lists.index, golden::values<std::int32_t>("index"));
    const auto distance = golden::values<float>("distance");
    for (std::size_t k = 0; k < distance.size(); ++k) ASSERT_NEAR(lists.distance[k], distance[k], 1e-6);
    EXPECT_EQ(nearest_rows(golden::points(), 15, Metric::cosine).index, golden::values<std::int32_t>("cosine_index"));
}

TEST(Neighbours, OfManyRowsEqualAFullSortTiesByIndex) {
    // Every row stands there three times, so that most lists end within a tie.
    const std::vector<float> once = random_rows(700, 20, 1);
    std::vector<float> x;
    for (int copy = 0; copy < 3; ++copy) x.insert(x.end(), once.begin(), once.end());
    const Rows rows{x, 2100, 20};
    const NeighbourLists lists = nearest_rows(rows, 31);
    for (std::int64_t i = 0; i < rows.count; i += 13) {
        std::vector<std::pair<double, std::int32_t>> all;
        for (std::int64_t j = 0; j < rows.count; ++j) {
            double sum = 0;
            for (std::int64_t c = 0; c < 20; ++c) {
                const double d = static_cast<double>(rows.row(i)[c]) - static_cast<double>(rows.row(j)[c]);
                sum += d * d;
            }
            if (j != i) all.emplace_back(sum, static_cast<std::int32_t>(j));
        }
        std::sort(all.begin(), all.end());
        for (std::size_t e = 0; e < 31; ++e) ASSERT_EQ(lists.index[static_cast<std::size_t>(i) * 31 + e], all[e].second) << i;
    }
}

TEST(Neighbours, ByScoresEqualAFullSortOfTheProducts) {
    const std::vector<float> q = random_rows(300, 16, 2), k = random_rows(1500, 16, 3);
    const Rows queries{q, 300, 16}, keys{k, 1500, 16};
    const NeighbourLists lists = largest_products(queries, keys, 90);
    for (std::int64_t i = 0; i < 300; ++i) {
        std::vector<std::pair<double, std::int32_t>> all;
        for (std::int64_t j = 0; j < 1500; ++j) {
            double sum = 0;
            for (std::int64_t c = 0; c < 16; ++c)
                sum -= static_cast<double>(queries.row(i)[c]) * static_cast<double>(keys.row(j)[c]);
            all.emplace_back(sum, static_cast<std::int32_t>(j));
        }
        std::sort(all.begin(), all.end());
        for (std::size_t e = 0; e < 90; ++e) {
            ASSERT_EQ(lists.index[static_cast<std::size_t>(i) * 90 + e], all[e].second);
            ASSERT_NEAR(lists.distance[static_cast<std::size_t>(i) * 90 + e], all[e].first - all[0].first, 1e-5);
        }
    }
}

TEST(Neighbours, AreAtMostAllOthers) {
    const std::vector<float> x = {0, 1, 3};
    const NeighbourLists lists = nearest_rows({x, 3, 1}, 15);
    EXPECT_EQ(lists.each, 2);
    EXPECT_EQ(lists.index, (std::vector<std::int32_t>{1, 2, 0, 2, 1, 0}));
    EXPECT_EQ(nearest_rows({std::span(x).first(1), 1, 1}, 15).each, 0);
}

}  // namespace
}  // namespace headlight::map
