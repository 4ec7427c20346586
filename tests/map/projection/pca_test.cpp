// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/projection/pca.h"
#include "tests/map/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headlight::map {
namespace {

TEST(Pca, FindsTheAxesOfAPlaneInSpaceAndTheirShares) {
    // 3 a + 1 b with a = (.6, -.8, 0), b = (0, 0, 1): variances 9 : 1 over the four corners.
    std::vector<float> x;
    for (const float a : {-3.0F, 3.0F})
        for (const float b : {-1.0F, 1.0F}) x.insert(x.end(), {0.6F * a + 5, -0.8F * a + 7, b});
    const Rows rows{x, 4, 3};
    const Pca pca = fit_pca(rows, 3);
    EXPECT_NEAR(pca.explained[0], 0.9, 1e-6);
    EXPECT_NEAR(pca.explained[1], 0.1, 1e-6);
    EXPECT_EQ(pca.explained[2], 0);
    EXPECT_NEAR(pca.loadings[0], -0.6, 1e-6);  // the largest loading, of the second number, is positive
    EXPECT_NEAR(pca.loadings[1], 0.8, 1e-6);
    const std::vector<float> scores = pca.scores(rows);
    EXPECT_NEAR(scores[0], 3, 1e-5);
    EXPECT_NEAR(scores[1], -1, 1e-5);
    EXPECT_EQ(scores[2], 0);
}

TEST(Pca, IsThatOfScikitLearnUpToSigns) {
    const Rows x = golden::points();
    const Pca pca = fit_pca(x, 3);
    const std::vector<float> scores = pca.scores(x), theirs = golden::values<float>("pca");
    const std::vector<double> explained = golden::values<double>("explained");
    ASSERT_EQ(scores.size(), theirs.size());
    for (std::size_t d = 0; d < 3; ++d) {
        EXPECT_NEAR(pca.explained[d], explained[d], 1e-6);
        double same = 0, largest = 0;
        for (std::size_t i = d; i < scores.size(); i += 3) {
            same += static_cast<double>(scores[i]) * static_cast<double>(theirs[i]);
            largest = std::max(largest, std::abs(static_cast<double>(theirs[i])));
        }
        for (std::size_t i = d; i < scores.size(); i += 3)
            ASSERT_NEAR(scores[i], (same > 0 ? 1 : -1) * static_cast<double>(theirs[i]), 1e-6 * largest) << d << " " << i;
    }
}

TEST(Pca, TakesNoAccountOfRowsApart) {
    const std::vector<float> x = {-1, 0, 1, 0, 0, 1000};
    const std::vector<std::uint8_t> apart = {0, 0, 1};
    const Pca pca = fit_pca({x, 3, 2}, 1, apart);
    EXPECT_NEAR(pca.loadings[0], 1, 1e-12);
    EXPECT_NEAR(pca.explained[0], 1, 1e-6);
}

TEST(Pca, PutsEqualPointsAtTheOrigin) {
    const std::vector<float> x(12, 2.5F);
    const Pca pca = fit_pca({x, 4, 3}, 2);
    for (const float value : pca.scores({x, 4, 3})) EXPECT_EQ(value, 0);
    EXPECT_EQ(pca.explained[0], 0);
}

}  // namespace
}  // namespace headlight::map
