// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/layer_mix.h"

#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "tests/corpus/fixtures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace headlight::corpus {
namespace {

/// For the few batches of a test.
const LayerMixOptions kFast{.learning_rate = 0.02, .batch = 16};

/// Three classes whose directions only layer 3 of 0 to 5 has, and those behind it that copy it.
struct MixedStates {
    static constexpr std::int64_t kExamples = 900, kWidth = 8;
    static constexpr std::size_t kLayers = 6;
    std::vector<StructuralProbe::Matrix> states;
    std::vector<std::int32_t> labels;
    std::vector<std::int64_t> train, dev, test;

    explicit MixedStates(float noise, std::size_t known_from = 3, std::size_t known_to = 3) {
        for (std::int64_t i = 0; i < kExamples; ++i) {
            labels.push_back(static_cast<std::int32_t>(draw(1, i, 0) % 4 % 3));  // class 0 is half of all
            (i % 3 == 0 ? dev : i % 3 == 1 ? test : train).push_back(i);
        }
        for (std::size_t l = 0; l < kLayers; ++l) {
            StructuralProbe::Matrix& x = states.emplace_back(kExamples, kWidth);
            for (std::int64_t i = 0; i < x.size(); ++i)
                x.data()[i] = noise * (static_cast<float>(draw(2 + l, i, 0) >> 40) * 0x1p-23F - 1);
            if (l < known_from || l > known_to) continue;
            for (std::int64_t i = 0; i < kExamples; ++i) x(i, labels[static_cast<std::size_t>(i)]) += 5;
        }
    }
    LayerMixTask task() const {
        LayerMixTask out{.layers = {}, .labels = labels, .classes = 3, .train = train, .dev = dev, .test = test};
        for (const StructuralProbe::Matrix& x : states) out.layers.emplace_back(x.data(), x.rows(), x.cols());
        return out;
    }
};

TEST(LayerMix, ExpectedLayerIsThatOfThePublishedArithmetic) {
    EXPECT_NEAR(expected_layer(std::vector<double>{80, 84, 90, 91, 91.5}), 1.826087, 5e-7);
    EXPECT_NEAR(expected_layer(std::vector<double>{.5, .9, .8}), (1 * .4 - 2 * .1) / .3, 1e-12);  // a gain may be negative
    EXPECT_TRUE(std::isnan(expected_layer(std::vector<double>{.5, .9, .5})));
    EXPECT_TRUE(std::isnan(expected_layer(std::vector<double>{.5})));
    EXPECT_TRUE(std::isnan(expected_layer({})));
}

TEST(LayerMix, WhatOnlyLayerThreeKnowsIsExpectedAtLayerThree) {
    // Other layers are constant, so every probe before layer 3 predicts the same class.
    const MixedStates states(0);
    const LayerMix mix = fit_layer_mix(states.task(), kFast);
    ASSERT_EQ(mix.steps.size(), 6u);
    EXPECT_EQ(mix.expected, 3.0);
    EXPECT_NEAR(mix.steps[2].score, mix.majority, 1e-12);
    EXPECT_EQ(mix.steps[3].score, 1.0);
    EXPECT_EQ(mix.steps[3].deviation, 0.0);
    EXPECT_NEAR(mix.steps[3].gain, 1 - mix.majority, 1e-12);
    EXPECT_EQ(mix.steps[5].gain, 0.0);
    for (const LayerMixStep& step : mix.steps) {
        EXPECT_NEAR(std::accumulate(step.weights.begin(), step.weights.end(), 0.0), 1, 1e-6);
        EXPECT_EQ(std::ssize(step.weights), step.last + 1);
        EXPECT_NEAR(std::accumulate(step.hits.begin(), step.hits.end(), 0.0) / static_cast<double>(step.hits.size()), step.score,
                    1e-12);
    }
}

TEST(LayerMix, NoiseElsewhereMovesTheExpectedLayerLittleAndTheCentreTowardsWhatIsKnown) {
    const MixedStates early(1, 1, 1), late(1, 4, 4);
    const LayerMix of_early = fit_layer_mix(early.task(), kFast), of_late = fit_layer_mix(late.task(), kFast);
    EXPECT_NEAR(of_early.expected, 1, 0.25);
    EXPECT_NEAR(of_late.expected, 4, 0.25);
    EXPECT_LT(of_early.centre, 2.4);  // 2.5: all layers alike
    EXPECT_GT(of_late.centre, 2.6);
    EXPECT_GT(of_late.steps.back().weights[4], 1.3 / 6);
    EXPECT_GT(of_late.steps.back().score, 0.97);
    EXPECT_NEAR(of_late.steps[3].score, of_late.majority, 0.1);
}

TEST(LayerMix, HasTheSameBitsOnAnyNumberOfThreads) {
    const MixedStates states(1);
    std::vector<LayerMix> mixes;
    for (const int n : {1, 3})
        mixes.push_back(on_threads(n, [&] { return fit_layer_mix(states.task(), {.seeds = 2, .epochs = 3}); }));
    for (std::size_t l = 0; l < 6; ++l) {
        EXPECT_EQ(mixes[0].steps[l].weights, mixes[1].steps[l].weights);
        EXPECT_EQ(mixes[0].steps[l].hits, mixes[1].steps[l].hits);
    }
}

TEST(LayerMix, RefusesWhatItCannotFitAndStopsWhereItIsCancelled) {
    MixedStates states(1);
    LayerMixTask task = states.task();
    task.classes = 2;
    EXPECT_THROW(fit_layer_mix(task), Error);
    task = states.task();
    task.dev = {};
    EXPECT_THROW(fit_layer_mix(task), Error);
    task = states.task();
    task.layers.pop_back();
    task.layers.emplace_back(states.states[0].data(), 10, 8);
    EXPECT_THROW(fit_layer_mix(task), Error);
    EXPECT_THROW(fit_layer_mix(states.task(), {.seeds = 0}), Error);
    const CancelToken cancel;
    std::int64_t fits = 0;
    EXPECT_THROW(fit_layer_mix(states.task(), {.epochs = 2}, cancel,
                               [&](const ProgressStep& step) {
                                   fits = step.done;
                                   cancel.cancel();
                               }),
                 Cancelled);
    EXPECT_LT(fits, 18);
    states.states[2](4, 4) = INFINITY;
    EXPECT_THROW(fit_layer_mix(states.task()), Error);
}

}  // namespace
}  // namespace headlight::corpus
