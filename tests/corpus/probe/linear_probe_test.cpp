// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/linear_probe.h"
#include "tests/corpus/fixtures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace headlight::corpus {
namespace {

struct Toy {
    ProbeRows states;
    std::vector<std::int32_t> labels;
};

/// Numbers that Python makes the same way: fractional parts of multiples of irrational numbers.
double fraction(double x) { return x - std::floor(x); }

/// 60 examples of three classes with five features, of which the last is the sum of two others.
Toy overlapping() {
    Toy toy;
    toy.states.resize(60, 5);
    for (int i = 0; i < 60; ++i) {
        for (int f = 0; f < 4; ++f) toy.states(i, f) = static_cast<float>(3 * fraction((i + 1) * std::sqrt(2 + f)) + f);
        toy.states(i, 4) = toy.states(i, 0) + toy.states(i, 1);
        toy.labels.push_back(static_cast<std::int32_t>(toy.states(i, 0) + 0.7f * toy.states(i, 1) > 2.6f) +
                             static_cast<std::int32_t>(fraction(i * 0.37) > 0.6));
    }
    return toy;
}

TEST(LinearProbe, TheOptimumIsScikitLearns) {
    const nlohmann::json golden = golden_json("corpus/probe.json");
    const Toy toy = overlapping();
    ASSERT_EQ(nlohmann::json(toy.labels), golden["labels"]);
    const LinearProbe probe = TrainingSet(toy.states).fit(toy.labels, 3, {.penalty = golden["penalty"]});
    EXPECT_LT(probe.gradient, 1e-6);
    EXPECT_NEAR(probe.objective, golden["objective"].get<double>(), 1e-9);
    const Eigen::MatrixXd p = probe.log_probabilities(toy.states).array().exp();
    for (Eigen::Index i = 0; i < 60; ++i)
        for (Eigen::Index c = 0; c < 3; ++c)
            EXPECT_NEAR(p(i, c), golden["probabilities"][static_cast<std::size_t>(i)][static_cast<std::size_t>(c)].get<double>(),
                        1e-5);
}

TEST(LinearProbe, StartsElsewhereEndsAtTheSamePlace) {
    const Toy toy = overlapping();
    const TrainingSet train(toy.states);
    const LinearProbe cold = train.fit(toy.labels, 3, {.penalty = 1e-3});
    const LinearProbe strong = train.fit(toy.labels, 3, {.penalty = 1});
    const LinearProbe warm = train.fit(toy.labels, 3, {.penalty = 1e-3}, &strong);
    EXPECT_NEAR(warm.objective, cold.objective, 1e-9);
    EXPECT_LT((warm.weights - cold.weights).cwiseAbs().maxCoeff(), 1e-3);
    const LinearProbe again = train.fit(toy.labels, 3, {.penalty = 1e-3}, &cold);
    EXPECT_LE(again.steps, 2) << "the start is carried through the standardisation";
}

TEST(LinearProbe, SeparableClassesAreSeparated) {
    Toy toy;
    toy.states = ProbeRows::Zero(40, 3);
    for (int i = 0; i < 40; ++i) {
        toy.labels.push_back(i % 4);
        toy.states(i, 0) = static_cast<float>(i % 4 / 2) + 0.01f * static_cast<float>(i % 7);
        toy.states(i, 1) = static_cast<float>(i % 2) * 1000;
        toy.states(i, 2) = 5;  // constant
    }
    const TrainingSet train(toy.states);
    EXPECT_EQ(train.scale().constant, 1);
    const LinearProbe probe = train.fit(toy.labels, 4, {.penalty = 1e-4});
    EXPECT_EQ(predictions(probe.log_probabilities(toy.states)), toy.labels);
    EXPECT_TRUE(probe.weights.col(2).isZero());
}

TEST(LinearProbe, ConstantFeaturesGiveTheShareOfEachClass) {
    const ProbeRows states = ProbeRows::Constant(10, 4, 3.5f);
    const std::vector<std::int32_t> labels{0, 0, 0, 0, 0, 0, 0, 1, 1, 2};
    const LinearProbe probe = TrainingSet(states).fit(labels, 3);
    const Eigen::MatrixXd p = probe.log_probabilities(states).array().exp();
    EXPECT_NEAR(p(4, 0), 0.7, 1e-5);
    EXPECT_NEAR(p(4, 1), 0.2, 1e-5);
    EXPECT_NEAR(p(4, 2), 0.1, 1e-5);
}

/// More examples than are computed in double precision.
TEST(LinearProbe, TheSameBitsOnAnyNumberOfThreads) {
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    ProbeRows states(45'000, 96);
    std::vector<std::int32_t> labels;
    for (Eigen::Index i = 0; i < states.rows(); ++i) {
        for (Eigen::Index f = 0; f < states.cols(); ++f) states(i, f) = normal(random);
        labels.push_back(states(i, 0) + normal(random) > 0 ? 1 : states(i, 1) > 0 ? 2 : 0);
    }
    std::vector<Eigen::MatrixXd> weights;
    for (const int threads : {1, 2, 3}) {
        const LinearProbe probe = on_threads(threads, [&] { return TrainingSet(states).fit(labels, 3, {.penalty = 1e-3}); });
        EXPECT_LT(probe.gradient, 1e-5) << "in single precision";
        weights.push_back(probe.weights);
    }
    EXPECT_TRUE(weights[0] == weights[1]);
    EXPECT_TRUE(weights[0] == weights[2]);
}

TEST(LinearProbe, ThePathEndsWhereTheDevelopmentPartIsPredictedBest) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    const auto noisy = [&](int n) {
        Toy toy;
        toy.states.resize(n, 30);
        for (int i = 0; i < n; ++i) {
            for (int f = 0; f < 30; ++f) toy.states(i, f) = normal(random);
            toy.labels.push_back(toy.states(i, 0) + normal(random) > 0);
        }
        return toy;
    };
    const Toy train = noisy(60), development = noisy(400);
    const ChosenProbe chosen = fit_on_path(TrainingSet(train.states), train.labels, 2, development.states, development.labels);
    ASSERT_GE(chosen.tried.size(), 2u);
    std::size_t best = 0;
    for (std::size_t i = 0; i < chosen.tried.size(); ++i)
        if (chosen.cross_entropies[i] < chosen.cross_entropies[best]) best = i;
    EXPECT_EQ(chosen.probe.penalty, chosen.tried[best]);
    EXPECT_LT(best, chosen.tried.size() - 1) << "60 examples of 30 features are overfitted by the weakest penalty";
    EXPECT_NEAR(mean_cross_entropy(chosen.probe.log_probabilities(development.states), development.labels),
                chosen.cross_entropies[best], 1e-3);
}

TEST(LinearProbe, SaysWhatIsWrong) {
    ProbeRows states = ProbeRows::Random(4, 2);
    EXPECT_THROW(TrainingSet(ProbeRows(states.topRows(1))), Error);
    const std::vector<std::int32_t> labels{0, 1, 2, 1};
    EXPECT_THROW(TrainingSet(states).fit(labels, 2), Error);
    CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(TrainingSet(states).fit(labels, 3, {}, nullptr, cancel), Cancelled);
    states(2, 1) = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THROW(TrainingSet{states}, Error);
}

}  // namespace
}  // namespace headlight::corpus
