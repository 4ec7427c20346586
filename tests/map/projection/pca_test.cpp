// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/projection/pca.h"

#include <gtest/gtest.h>

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
