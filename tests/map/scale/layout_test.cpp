// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/scale/layout.h"

#include "tests/map/heads.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::map {
namespace {

/// softmax over keys of q·k for every query of counted points.
std::vector<double> attention(const Rows& rows, std::int64_t queries) {
    std::vector<double> out;
    for (std::int64_t i = 0; i < queries; ++i) {
        std::vector<double> row;
        double most = -1e300, sum = 0;
        for (std::int64_t j = queries; j < rows.count; ++j) {
            double product = 0;
            for (std::int64_t c = 0; c < rows.width; ++c)
                product += static_cast<double>(rows.row(i)[c]) * static_cast<double>(rows.row(j)[c]);
            row.push_back(product);
            most = std::max(most, product);
        }
        for (double& value : row) sum += value = std::exp(value - most);
        for (const double value : row) out.push_back(value / sum);
    }
    return out;
}

TEST(Layout, ScalingAndTranslationLeaveAttentionAsItIs) {
    const MapVectors vectors = random_head(12, 30, false, 5);
    const HeadVectors& head = vectors.heads[0];
    std::vector<float> plain = *head.queries;
    plain.insert(plain.end(), head.keys->begin(), head.keys->end());
    const std::int64_t q = head.query_rows().count;
    const std::vector<double> wanted = attention({plain, 2 * q, head.width}, q);
    for (const Preset preset : {Preset::scores, Preset::balanced, Preset::cosine}) {
        const Placed found = placed(vectors, head, {.preset = preset});
        const std::vector<double> moved = attention(found.rows(), q);
        for (std::size_t k = 0; k < wanted.size(); ++k) ASSERT_NEAR(moved[k], wanted[k], 1e-5);
        // The clouds share their centre, but for what stands apart.
        for (std::int64_t c = 0; c < head.width; ++c) {
            double between = 0;
            for (const std::int32_t i : found.counted) between += static_cast<double>(found.rows().row(i)[c]) * (i < q ? 1 : -1);
            ASSERT_NEAR(between / static_cast<double>(q), 0, 1e-4);
        }
    }
}

TEST(Layout, NormScaleMakesMeanNormsEqual) {
    const MapVectors vectors = random_head(4, 25, false, 6);
    const Placed found = placed(vectors, vectors.heads[0], {.preset = Preset::balanced});
    double norms[2] = {};
    const Rows q = vectors.heads[0].query_rows(), k = vectors.heads[0].key_rows();
    for (std::int64_t i = 0; i < q.count; ++i) {
        if (vectors.tokens.apart[static_cast<std::size_t>(i)]) continue;
        double a = 0, b = 0;
        for (std::int64_t c = 0; c < q.width; ++c) {
            a += std::pow(static_cast<double>(q.row(i)[c] * found.c), 2);
            b += std::pow(static_cast<double>(k.row(i)[c] / found.c), 2);
        }
        norms[0] += std::sqrt(a);
        norms[1] += std::sqrt(b);
    }
    EXPECT_NEAR(norms[0] / norms[1], 1, 1e-5);
}

TEST(Layout, WeightedCorrelationOfFourPairs) {
    const double x[] = {3, 2, 1, .5}, d[] = {1, 1.5, 3, 2.5};
    std::vector<double> w;
    for (const double each : d) w.push_back((4 - each) * (4 - each));
    EXPECT_NEAR(weighted_correlation(x, d, w), -0.950431, 1e-6);
}

TEST(Layout, SearchFindsTheFactorThatWasTakenOut) {
    // Heads with W_q near W_k, whose queries are divided by 2.5 and keys multiplied with it: that c makes distances right again.
    MapVectors vectors = random_head(40, 40, true, 7);
    const double before = search_scale(vectors, vectors.heads[0]).c;
    std::vector<float> q = *vectors.heads[0].queries, k = *vectors.heads[0].keys;
    for (float& value : q) value /= 2.5F;
    for (float& value : k) value *= 2.5F;
    vectors.heads[0].queries = std::make_shared<std::vector<float>>(q);
    vectors.heads[0].keys = std::make_shared<std::vector<float>>(k);
    const ScaleSearch found = search_scale(vectors, vectors.heads[0]);
    ASSERT_EQ(found.tried.size(), 7u);
    for (const TriedScale& each : found.tried) EXPECT_TRUE(std::isnan(each.correlation) || std::abs(each.correlation) <= 1);
    EXPECT_GT(found.c, before);
}

TEST(Layout, SearchOfOneTextOfThreeTokensFallsBackToNorms) {
    const MapVectors vectors = random_head(1, 3, false, 8);
    const ScaleSearch found = search_scale(vectors, vectors.heads[0]);
    EXPECT_NEAR(found.c, norm_scale(vectors, vectors.heads[0]), 1e-12);
}

TEST(Layout, FirstTokensAreInNoList) {
    const MapVectors vectors = random_head(12, 20, false, 9);
    for (const Preset preset : {Preset::scores, Preset::balanced}) {
        const Placed found = placed(vectors, vectors.heads[0], {.preset = preset});
        EXPECT_EQ(found.counted.size(), 2u * 12 * 19);
        EXPECT_EQ(found.counted_queries, 12 * 19);
        const Graph graph = graph_of(found, vectors.heads[0], {.preset = preset, .projection = Projection::tsne});
        EXPECT_EQ(graph.count, 2 * 12 * 19);
        double sum = 0;
        for (const float p : graph.weight) sum += static_cast<double>(p);
        EXPECT_NEAR(sum, 1, 1e-4);
    }
    EXPECT_EQ(placed(vectors, vectors.heads[0], {.with_apart = true}).counted.size(), 2u * 12 * 20);
}

TEST(Layout, ScoresGiveHalfOfTheProbabilityToTheOtherRole) {
    const MapVectors vectors = random_head(12, 20, false, 10);
    const Placed found = placed(vectors, vectors.heads[0], {});
    const Graph graph = graph_of(found, vectors.heads[0], {.projection = Projection::tsne});
    double cross = 0;
    for (std::int64_t i = 0; i < graph.count; ++i)
        for (std::int64_t e = graph.first[static_cast<std::size_t>(i)]; e < graph.first[static_cast<std::size_t>(i) + 1]; ++e)
            if ((i < found.counted_queries) != (graph.to[static_cast<std::size_t>(e)] < found.counted_queries))
                cross += static_cast<double>(graph.weight[static_cast<std::size_t>(e)]);
    EXPECT_NEAR(cross, 0.5, 1e-4);
}

}  // namespace
}  // namespace headlight::map
