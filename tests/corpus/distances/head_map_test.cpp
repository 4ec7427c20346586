// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/distances/head_map.h"

#include "headlight/base/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace headlight::corpus {
namespace {

/// ((7 i j + 3 (i + j)) mod 11 + 1) / 12: no plane has these distances.
Eigen::MatrixXd odd_distances() {
    Eigen::MatrixXd d = Eigen::MatrixXd::Zero(9, 9);
    for (int i = 0; i < 9; ++i)
        for (int j = 0; j < 9; ++j)
            if (i != j) d(i, j) = ((i * j * 7 + 3 * (i + j)) % 11 + 1) / 12.0;
    return d;
}

Eigen::MatrixXd distances_between(const Eigen::MatrixXd& x) {
    Eigen::MatrixXd d(x.rows(), x.rows());
    for (Eigen::Index i = 0; i < x.rows(); ++i)
        for (Eigen::Index j = 0; j < x.rows(); ++j) d(i, j) = (x.row(i) - x.row(j)).norm();
    return d;
}

TEST(MetricScaling, RecoversPointsOfAPlaneUpToRotation) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    const Eigen::MatrixXd points = Eigen::MatrixXd::NullaryExpr(30, 2, [&] { return normal(random); });
    const Eigen::MatrixXd d = distances_between(points);
    const Scaling map = metric_scaling(d);
    EXPECT_LT((distances_between(map.coordinates) - d).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_LT(map.relative_stress, 1e-9);
    EXPECT_LT(map.coordinates.colwise().sum().norm(), 1e-9);
}

TEST(MetricScaling, ReachesTheStressOfScikitLearn) {
    // MDS(2, metric="precomputed", n_init=50, eps=1e-14, normalized_stress=False).stress_: the best of 50 random starts.
    const Eigen::MatrixXd d = odd_distances();
    const Scaling map = metric_scaling(d);
    EXPECT_NEAR(map.stress, 0.92742297, 1e-7);
    EXPECT_NEAR(map.stress, (distances_between(map.coordinates) - d).squaredNorm() / 2, 1e-12);
    EXPECT_NEAR(map.relative_stress, std::sqrt(map.stress / (d.squaredNorm() / 2)), 1e-12);
    for (std::size_t i = 1; i < map.stresses.size(); ++i) EXPECT_LE(map.stresses[i], map.stresses[i - 1]);
    EXPECT_LT(map.stress, 0.99 * map.stresses.front()) << "classical scaling is not the answer";
    EXPECT_EQ(metric_scaling(d).coordinates, map.coordinates);
}

TEST(MetricScaling, PutsEqualPointsOnOneAnotherAndRefusesGaps) {
    Eigen::MatrixXd d = Eigen::MatrixXd::Zero(4, 4);
    d(0, 2) = d(2, 0) = d(1, 2) = d(2, 1) = d(0, 3) = d(3, 0) = d(1, 3) = d(3, 1) = d(2, 3) = d(3, 2) = 1;
    const Scaling map = metric_scaling(d);
    EXPECT_LT((map.coordinates.row(0) - map.coordinates.row(1)).norm(), 1e-6);
    EXPECT_LT(map.relative_stress, 1e-6);
    EXPECT_EQ(metric_scaling(Eigen::MatrixXd::Zero(3, 3)).stress, 0);
    d(0, 2) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THROW(metric_scaling(d), Error);
    EXPECT_THROW(average_linkage(d), Error);
    EXPECT_THROW(metric_scaling(Eigen::MatrixXd::Zero(3, 2)), Error);
}

TEST(AverageLinkage, MergesAtTheDistancesOfScipy) {
    const std::vector<GroupMerge> merges = average_linkage(odd_distances());
    const double scipy[] = {1.0 / 12, 1.0 / 12, 1.0 / 12, 0.20833333, 0.33333333, 0.38888889, 0.41666667, 0.68333333};
    ASSERT_EQ(merges.size(), std::size(scipy));
    for (std::size_t i = 0; i < merges.size(); ++i) EXPECT_NEAR(merges[i].distance, scipy[i], 1e-8) << i;
    EXPECT_EQ(merges.back().points, 9);
    EXPECT_EQ(groups_of(merges, 3), (std::vector<std::int64_t>{0, 1, 1, 1, 0, 0, 0, 2, 0}));  // fcluster(…, 3, "maxclust")
    EXPECT_EQ(groups_below(merges, 0.4), groups_of(merges, 3));
    EXPECT_EQ(groups_of(merges, 9), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(groups_of(merges, 1), std::vector<std::int64_t>(9, 0));
    EXPECT_THROW(groups_of(merges, 10), Error);
}

TEST(Nearest, OrdersTheOthersOfAPoint) {
    EXPECT_EQ(nearest_heads(odd_distances(), 0), (std::vector<std::int64_t>{4, 8, 1, 5, 2, 6, 3, 7}));
    EXPECT_THROW(nearest_heads(odd_distances(), 9), Error);
}

}  // namespace
}  // namespace headlight::corpus
