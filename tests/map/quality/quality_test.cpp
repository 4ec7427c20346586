// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/quality/quality.h"

#include "tests/map/golden.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::map {
namespace {

TEST(Quality, OfSixPointsOnALine) {
    const std::vector<float> x = {0, 1, 2, 4, 8, 9}, y = {0, 1, 4, 2, 8, 9};
    const RankQuality found = rank_quality({x, 6, 1}, {y, 6, 1}, 2);
    EXPECT_NEAR(found.trustworthiness, 0.8, 1e-12);
    EXPECT_NEAR(found.continuity, 0.8, 1e-12);
}

TEST(Quality, OfAPlaneIsThatOfScikitLearn) {
    const Rows x = golden::points();
    std::vector<float> plane;
    const auto pca = golden::values<float>("pca");
    for (std::size_t i = 0; i < pca.size(); i += 3) plane.insert(plane.end(), {pca[i], pca[i + 1]});
    const RankQuality found = rank_quality(x, {plane, x.count, 2}, 15);
    EXPECT_NEAR(found.trustworthiness, golden::values<double>("pca_trustworthiness")[0], 1e-6);
    EXPECT_NEAR(found.continuity, golden::values<double>("pca_continuity")[0], 1e-6);
    // A third of the rows is an estimate of all.
    EXPECT_NEAR(rank_quality(x, {plane, x.count, 2}, 15, 60).trustworthiness, found.trustworthiness, 0.02);
}

TEST(Quality, OfThreePointsDoesNotExist) {
    const std::vector<float> x = {0, 1, 2};
    EXPECT_TRUE(std::isnan(rank_quality({x, 3, 1}, {x, 3, 1}, 2).trustworthiness));
}

TEST(Quality, CountsKeptNeighbours) {
    const NeighbourLists a{2, 2, {1, 2, 3, 4}, {}}, b{2, 2, {2, 5, 4, 3}, {}};
    EXPECT_EQ(kept_neighbours(a, b), (std::vector<float>{0.5F, 1}));
}

/// One head of a causal model over one text of `n` tokens with one number each.
MapVectors line_of(std::vector<float> queries, std::vector<float> keys) {
    MapVectors v;
    const std::size_t n = queries.size();
    v.causal = true;
    for (std::size_t i = 0; i < n; ++i) v.tokens.position.push_back(static_cast<std::int32_t>(i));
    v.tokens.tokens.resize(n);
    v.tokens.text.resize(n);
    v.tokens.apart.resize(n);
    v.tokens.names = {"text"};
    HeadVectors head;
    head.width = 1;
    head.queries = std::make_shared<std::vector<float>>(std::move(queries));
    head.keys = std::make_shared<std::vector<float>>(std::move(keys));
    v.heads.push_back(std::move(head));
    return v;
}

TEST(Quality, FaithfulnessFollowsDistancesToLegalKeysOfTheSameText) {
    // Scores of every query rise with the key; in the picture (2-D, y = 0) keys stand at their numbers and queries at 10.
    const MapVectors v = line_of({1, 1, 1, 1, 1}, {0, 1, 2, 3, 4});
    std::vector<float> points;
    for (int i = 0; i < 5; ++i) points.insert(points.end(), {10, 0});
    for (int i = 0; i < 5; ++i) points.insert(points.end(), {static_cast<float>(i), 0});
    EXPECT_NEAR(faithfulness(v, v.heads[0], points, 2).correlation, 1, 1e-12);
    for (int i = 0; i < 5; ++i) points[static_cast<std::size_t>(2 * i)] = -10;
    EXPECT_NEAR(faithfulness(v, v.heads[0], points, 2).correlation, -1, 1e-12);
    // A key behind the query is not legal: where it stands does not matter. Query 2 is the first with three legal keys.
    points[2 * 9] = -10;
    const double with_last = faithfulness(v, v.heads[0], points, 2).correlation;
    EXPECT_NEAR(with_last, (-1 - 1 + 0.0) / 3, 1e-12);  // query 4: ranks 1 2 3 4 5 against 2 3 4 5 1 give 0
    MapVectors apart = v;
    apart.tokens.apart[4] = 1;
    EXPECT_NEAR(faithfulness(apart, apart.heads[0], points, 2).correlation, -1, 1e-12);
    EXPECT_TRUE(std::isnan(faithfulness(v, v.heads[0], points, 2).near)) << "no query has more than ten keys";
}

TEST(Quality, AttentionNearCountsTheTenNearestKeys) {
    // Two keys have all the weight that counts: key 11 is the farthest, key 0 the nearest.
    std::vector<float> keys(12, -1000);
    keys[0] = keys[11] = 0;
    const MapVectors v = line_of(std::vector<float>(12, 1), keys);
    std::vector<float> points(24, 0);
    for (int i = 0; i < 12; ++i) points.insert(points.end(), {static_cast<float>(i), 0});
    // Query 10 has eleven keys: all weight on key 0. Query 11: half of it on key 11, which is not among the ten nearest.
    EXPECT_NEAR(faithfulness(v, v.heads[0], points, 2).near, (1 + 0.5) / 2, 1e-9);
}

}  // namespace
}  // namespace headlight::map
