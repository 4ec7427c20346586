// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/transfer.h"

#include <gmock/gmock.h>

#include <limits>

namespace headlight::figure {
namespace transfer_test {

using Curve = Transfer::Curve;

Eigen::VectorXf row(std::initializer_list<float> values) {
    return Eigen::Map<const Eigen::VectorXf>(values.begin(), static_cast<Eigen::Index>(values.size()));
}

std::vector<float> applied(const Transfer& t, std::initializer_list<float> values) {
    const Eigen::VectorXf out = apply(t, row(values));
    return {out.begin(), out.end()};
}

using testing::ElementsAre;
using testing::FloatNear;

TEST(Transfer, LinearIsTheWeightItself) { EXPECT_THAT(applied({}, {0.F, 0.25F, 0.75F}), ElementsAre(0.F, 0.25F, 0.75F)); }

TEST(Transfer, LogSpansFourDecades) {
    const Transfer t{.curve = Curve::log};
    EXPECT_DOUBLE_EQ(t(1), 1);
    EXPECT_NEAR(t(0.01), 0.5, 1e-12);
    EXPECT_DOUBLE_EQ(t(1e-5), 0);
    EXPECT_DOUBLE_EQ(t(0), 0);
}

TEST(Transfer, GammaIsAPower) {
    const Transfer t{.curve = Curve::gamma, .gamma = 0.5};
    EXPECT_NEAR(t(0.09), 0.3, 1e-12);
}

TEST(Transfer, PerRowDividesByTheLargest) {
    EXPECT_THAT(applied({.curve = Curve::per_row}, {0.1F, 0.4F, 0.F}), ElementsAre(FloatNear(0.25F, 1e-6F), 1.F, 0.F));
}

TEST(Transfer, RankIsEvenlySpacedOverPositiveWeights) {
    EXPECT_THAT(applied({.curve = Curve::rank}, {0.1F, 0.6F, 0.F, 0.3F}),
                ElementsAre(FloatNear(1 / 3.F, 1e-6F), 1.F, 0.F, FloatNear(2 / 3.F, 1e-6F)));
}

TEST(Transfer, ThresholdDropsWhatIsBelowAndKeepsWhatIsEqual) {
    EXPECT_THAT(applied({.threshold = 0.25}, {0.25F, 0.2F, 0.55F}), ElementsAre(0.25F, 0.F, 0.55F));
}

TEST(Transfer, KeepMassKeepsTheFewestThatReachIt) {
    EXPECT_THAT(applied({.keep_mass = 0.8}, {0.1F, 0.5F, 0.3F, 0.1F}), ElementsAre(0.F, 0.5F, 0.3F, 0.F));
    EXPECT_THAT(applied({.keep_mass = 0.81}, {0.1F, 0.5F, 0.3F, 0.1F}), ElementsAre(0.1F, 0.5F, 0.3F, 0.F));
    // of the row's own mass, which is not 1 in a sentence-pair slice
    EXPECT_THAT(applied({.keep_mass = 0.5}, {0.05F, 0.1F, 0.05F}), ElementsAre(0.F, 0.1F, 0.F));
}

TEST(Transfer, NothingStaysNothing) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (Curve c : {Curve::linear, Curve::log, Curve::gamma, Curve::per_row, Curve::rank})
        EXPECT_THAT(applied({.curve = c}, {0.F, nan}), ElementsAre(0.F, 0.F)) << static_cast<int>(c);
    EXPECT_EQ(apply({.curve = Curve::per_row}, Eigen::VectorXf()).size(), 0);
}

TEST(Transfer, LegendSaysAllThatWasDone) {
    EXPECT_EQ(Transfer{}.legend(), QStringLiteral("linear"));
    const Transfer t{.curve = Curve::gamma, .gamma = 0.5, .threshold = 0.01, .keep_mass = 0.95};
    EXPECT_EQ(t.legend(), QStringLiteral("γ = 0.5, ≥ 0.01, 95 % of the mass"));
}

}  // namespace transfer_test
}  // namespace headlight::figure
