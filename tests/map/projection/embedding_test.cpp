// SPDX-License-Identifier: GPL-3.0-or-later
// t-SNE and UMAP against openTSNE 1.0.4, umap-learn 0.5.12 and scikit-learn, and against numbers worked out by hand.
#include "headlight/map/projection/embedding.h"

#include "headlight/map/quality/quality.h"
#include "tests/map/golden.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

namespace headlight::map {
namespace {

constexpr double kPerplexity = 12;

std::vector<float> squares(const std::vector<float>& x) {
    std::vector<float> out;
    for (const float value : x) out.push_back(value * value);
    return out;
}

Graph tsne_graph() {
    NeighbourLists lists = nearest_rows(golden::points(), 36);
    Calibrated weights = calibrated(squares(lists.distance), lists.count, lists.each, kPerplexity);
    return joint_probabilities({{std::move(lists), std::move(weights.p)}}, golden::points().count);
}

Graph umap_graph() {
    NeighbourLists lists = nearest_rows(golden::points(), 14);
    Membership weights = membership(lists);
    return fuzzy_union({{std::move(lists), std::move(weights.strength)}}, golden::points().count);
}

double trust_of(const std::vector<float>& points) {
    const Rows x = golden::points();
    return rank_quality(x, {points, x.count, 2}, 15).trustworthiness;
}

template <class Value, class Golden>
void expect_near(const std::vector<Value>& found, const std::vector<Golden>& wanted, double tolerance) {
    ASSERT_EQ(found.size(), wanted.size());
    double most = 0;
    for (const Golden& value : wanted) most = std::max(most, std::abs(static_cast<double>(value)));
    for (std::size_t k = 0; k < found.size(); ++k)
        ASSERT_NEAR(static_cast<double>(found[k]), static_cast<double>(wanted[k]), tolerance * most) << k;
}

TEST(Perplexity, OfThreeDistances) {
    const std::vector<float> x = {1, 4, 9};
    const Calibrated found = calibrated(x, 1, 3, 2);
    EXPECT_NEAR(found.beta[0], 0.374461, 1e-6);
    EXPECT_NEAR(found.p[0], 0.727177, 1e-6);
    EXPECT_NEAR(found.p[1], 0.236462, 1e-6);
    EXPECT_NEAR(found.p[2], 0.036361, 1e-6);
}

TEST(Perplexity, OfOpenTsne) {
    const NeighbourLists lists = nearest_rows(golden::points(), 36);
    expect_near(calibrated(squares(lists.distance), lists.count, lists.each, kPerplexity).p, golden::values<float>("p"), 1e-5);
}

TEST(Perplexity, OfEqualDistancesIsSpreadEvenly) {
    const std::vector<float> x(6, 0);
    for (const float p : calibrated(x, 1, 6, 2).p) EXPECT_NEAR(p, 1.0 / 6, 1e-6);
}

TEST(Tsne, GradientOfThreePoints) {
    const Graph p{3, {0, 2, 4, 6}, {1, 2, 0, 2, 0, 1}, {0.3F, 0.05F, 0.3F, 0.15F, 0.05F, 0.15F}};
    const TsneGradient found = tsne_gradient(p, {0, 0, 1, 0, 0, 2}, 2);
    EXPECT_NEAR(found.z, 1.733333, 1e-6);
    EXPECT_NEAR(found.divergence, 0.0733134, 1e-6);
    expect_near(found.gradient, std::vector<double>{-.0230769, .1046154, .0589744, -.0717949, -.0358974, -.0328205}, 1e-5);
}

/// The golden's start with a standard deviation of 1.
std::vector<float> spread_start() {
    std::vector<float> start = golden::values<float>("start");
    for (float& value : start) value *= 1e4F;
    return start;
}

TEST(Tsne, GradientOfOpenTsne) {
    expect_near(tsne_gradient(tsne_graph(), spread_start(), 2).gradient, golden::values<double>("gradient"), 1e-5);
}

TEST(Tsne, MovesAsOpenTsneDoes) {
    const auto tsne = make_tsne(tsne_graph(), spread_start());
    tsne->run(1);
    expect_near(tsne->points(), golden::values<double>("after_1"), 1e-5);
    tsne->run(9);
    expect_near(tsne->points(), golden::values<double>("after_10"), 1e-4);
}

TEST(Tsne, EndsAsGoodAsOpenTsneAndScikitLearn) {
    const auto tsne = make_tsne(tsne_graph(), golden::values<float>("start"));
    tsne->run(10000);
    EXPECT_EQ(tsne->done(), 750);
    const double wanted = golden::values<double>("divergence")[0];
    EXPECT_NEAR(tsne->divergence(), wanted, 0.02 * wanted);
    const double trust = trust_of(tsne->points());
    for (const double reference : golden::values<double>("tsne_trustworthiness")) EXPECT_GE(trust, reference - 0.005);
}

TEST(Tsne, TreeIsWithinTwoPercentOfAllPairsInTwoAndThreeDimensions) {
    std::mt19937 random(4);
    std::normal_distribution<float> normal;
    for (const int dims : {2, 3}) {
        std::vector<float> points;
        for (int i = 0; i < 3000; ++i)
            for (int d = 0; d < dims; ++d) points.push_back(normal(random) * 3 + static_cast<float>(i % 7 * (d + 1) * 4));
        const Graph none{3000, std::vector<std::int64_t>(3001), {}, {}};
        const TsneGradient exact = tsne_gradient(none, points, dims), tree = tsne_gradient(none, points, dims, 0.5);
        EXPECT_NEAR(tree.z / exact.z, 1, 0.02);
        double error = 0, size = 0;
        for (std::size_t k = 0; k < points.size(); ++k) {
            error += std::pow(static_cast<double>(tree.gradient[k]) - static_cast<double>(exact.gradient[k]), 2);
            size += std::pow(static_cast<double>(exact.gradient[k]), 2);
        }
        EXPECT_LT(std::sqrt(error / size), 0.02) << dims;
        EXPECT_GT(error, 0) << "the tree took no part";
    }
}

TEST(Tsne, WithATreeEndsAsGoodAsWithout) {
    TsneOptions options;
    options.exact_up_to = 0;
    const auto tsne = make_tsne(tsne_graph(), golden::values<float>("start"), options);
    tsne->run(750);
    const double wanted = golden::values<double>("divergence")[0];
    EXPECT_NEAR(tsne->divergence(), wanted, 0.03 * wanted);
}

TEST(Tsne, OfOnePointAndOfEqualPointsStaysFinite) {
    for (const std::int64_t n : {1, 5}) {
        Graph graph{n, std::vector<std::int64_t>(static_cast<std::size_t>(n) + 1), {}, {}};
        const auto tsne = make_tsne(graph, std::vector<float>(static_cast<std::size_t>(n) * 2));
        tsne->run(300);
        for (const float value : tsne->points()) EXPECT_TRUE(std::isfinite(value));
    }
}

TEST(Tsne, CanBeCancelledBetweenIterations) {
    const auto tsne = make_tsne(tsne_graph(), golden::values<float>("start"));
    const CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(tsne->run(1, cancel), Cancelled);
    EXPECT_EQ(tsne->done(), 0);
}

TEST(Umap, MembershipsAreThoseOfUmapLearn) {
    const Membership found = membership(nearest_rows(golden::points(), 14));
    const auto sigma = golden::values<float>("sigma");
    for (std::size_t i = 0; i < sigma.size(); ++i) ASSERT_NEAR(found.sigma[i], sigma[i], 1e-5 * sigma[i]) << i;
    expect_near(found.rho, golden::values<float>("rho"), 1e-6);
    expect_near(found.strength, golden::values<float>("strength"), 1e-5);
}

TEST(Umap, UnionIsThatOfUmapLearn) {
    const Graph found = umap_graph();
    const auto wanted = golden::values<float>("fuzzy");
    std::vector<float> dense(wanted.size());
    for (std::size_t i = 0; i < static_cast<std::size_t>(found.count); ++i)
        for (std::int64_t e = found.first[i]; e < found.first[i + 1]; ++e)
            dense[i * static_cast<std::size_t>(found.count) + static_cast<std::size_t>(found.to[static_cast<std::size_t>(e)])] =
                found.weight[static_cast<std::size_t>(e)];
    expect_near(dense, wanted, 1e-5);
}

TEST(Umap, CurvesAreThoseOfUmapLearn) {
    const auto wanted = golden::values<double>("curves");
    const double distances[] = {0, 0.1, 0.5};
    for (std::size_t k = 0; k < 3; ++k) {
        const UmapCurve curve = umap_curve(distances[k], 1);
        EXPECT_NEAR(curve.a, wanted[2 * k], 1e-5);
        EXPECT_NEAR(curve.b, wanted[2 * k + 1], 1e-5);
    }
}

TEST(Umap, IsAsTrustworthyAsUmapLearn) {
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const auto umap = make_umap(umap_graph(), golden::values<float>("start"), {.seed = seed});
        umap->run(1000);
        EXPECT_EQ(umap->done(), 500);
        mean += trust_of(umap->points()) / 5;
    }
    EXPECT_GE(mean, golden::values<double>("umap_trustworthiness")[0] - 0.01);
}

TEST(Embeddings, HaveTheSameBytesForASeedOnAnyThreadAndOthersForAnother) {
    const auto umap = [](std::uint64_t seed) {
        const auto made = make_umap(umap_graph(), golden::values<float>("start"), {.seed = seed});
        made->run(60);
        return made->points();
    };
    std::vector<float> there[2];
    std::thread first([&] { there[0] = umap(3); }), second([&] { there[1] = umap(3); });
    first.join();
    second.join();
    EXPECT_EQ(there[0], there[1]);
    EXPECT_EQ(there[0], umap(3));
    EXPECT_NE(there[0], umap(4));
}

TEST(Embeddings, KeepThreeClustersApartInThreeDimensions) {
    const Rows x = golden::points();
    const std::vector<float> start = fit_pca(x, 3).scores(x);
    std::vector<float> small = start;
    for (float& value : small) value *= 1e-4F;
    const std::unique_ptr<Embedding> both[] = {make_tsne(tsne_graph(), small, {.dims = 3}),
                                               make_umap(umap_graph(), start, {.dims = 3})};
    for (const auto& embedding : both) {
        embedding->run(1000);
        const std::vector<float> points = embedding->points();
        const NeighbourLists near = nearest_rows({points, x.count, 3}, 15);
        std::int64_t pure = 0;
        for (std::int64_t i = 0; i < x.count; ++i)
            for (std::int64_t e = 0; e < 15; ++e) pure += near.index[static_cast<std::size_t>(i * 15 + e)] / 60 == i / 60 ? 1 : 0;
        EXPECT_GE(static_cast<double>(pure), 0.95 * 15 * static_cast<double>(x.count));
    }
}

}  // namespace
}  // namespace headlight::map
