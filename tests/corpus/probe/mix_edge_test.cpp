// SPDX-License-Identifier: GPL-3.0-or-later
// Edge probing's classifier of mixed layers: its arithmetic against PyTorch's, and what it sees that a linear one does not.
#include "corpus/probe/adam.h"
#include "corpus/probe/mix_classifier.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/probe/layer_mix.h"
#include "tests/corpus/fixtures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::corpus {
namespace mix_edge_test {

using Rows = StructuralProbe::Matrix;

/// As in tests/golden/make_edge_golden.py.
std::vector<float> numbers(std::int64_t count, double root) {
    std::vector<float> out;
    for (std::int64_t i = 0; i < count; ++i) {
        const double x = static_cast<double>(i + 1) * std::sqrt(root);
        out.push_back(static_cast<float>(2 * (x - std::floor(x)) - 1));
    }
    return out;
}

TEST(MixEdge, LossGradientAndStepsAreThoseOfPyTorch) {
    const nlohmann::json golden = golden_json("corpus/edge.json");
    std::vector<std::vector<float>> values;
    LayerMixTask task{.layers = {}, .labels = {}, .classes = 3, .train = {}, .dev = {}, .test = {}};
    for (const double root : {2, 3, 5}) values.push_back(numbers(9 * 4, root));
    for (const std::vector<float>& of : values) task.layers.emplace_back(of.data(), 9, 4);
    const std::vector<std::int32_t> labels{0, 2, 1, 2};
    // All rows are read while learning, so they are standardised as they are there.
    const std::vector<std::int64_t> examples{0, 1, 2, 3}, with_all_rows{0, 1, 2, 3, 4};
    const std::vector<SpanRows> spans{{0, 2}, {2, 3}, {1, 4}, {6, 9}, {0, 9}},
        pairs{{0, 2, 4, 5}, {2, 3, 0, 3}, {1, 4, 7, 9}, {6, 9, 5, 7}, {0, 9, 0, 1}};
    task.labels = labels;
    task.train = with_all_rows;
    const at::Tensor batch = mix_indices(examples);
    for (const bool paired : {false, true}) {
        SCOPED_TRACE(paired);
        const nlohmann::json& wanted = golden[paired ? "pairs" : "spans"];
        task.spans = paired ? pairs : spans;
        const MixData data(task, {});
        const auto edge = edge_of_mixture(data, {.width = 5, .dropout = 0}, 3, 0);
        ASSERT_EQ(edge->weights().numel(), std::ssize(wanted["weights"]));
        const std::vector<float> start = numbers(edge->weights().numel(), 7);
        std::ranges::copy(start, edge->weights().data_ptr<float>());
        for (std::int64_t i = 0; i < 4; ++i)
            EXPECT_NEAR(edge->loss(batch.narrow(0, i, 1)), wanted["losses"][static_cast<std::size_t>(i)].get<double>(), 2e-6);
        Adam adam(edge->weights());
        for (int step = 0; step < 3; ++step) {
            edge->learn(batch);
            for (std::int64_t i = 0; step == 0 && i < edge->gradient().numel(); ++i)
                EXPECT_NEAR(edge->gradient().data_ptr<float>()[i], wanted["gradient"][static_cast<std::size_t>(i)].get<double>(),
                            1e-6)
                    << i;
            adam.step(edge->weights(), edge->gradient(), 0.01);
        }
        for (std::int64_t i = 0; i < edge->weights().numel(); ++i)
            EXPECT_NEAR(edge->weights().data_ptr<float>()[i], wanted["weights"][static_cast<std::size_t>(i)].get<double>(), 2e-5)
                << i;
        const at::Tensor predicted = edge->predicted(batch);
        EXPECT_EQ(std::vector<std::int64_t>(predicted.data_ptr<std::int64_t>(), predicted.data_ptr<std::int64_t>() + 4),
                  wanted["predicted"].get<std::vector<std::int64_t>>());
    }
}

/// Spans of two to four tokens. The label is whether the signs of two features are equal in the one token whose third feature is
/// large: no linear function of a mean over the span has it. Only layer `known` has the tokens, the others are constant.
struct Signs {
    static constexpr std::int64_t kExamples = 1500;
    std::vector<Rows> states;
    std::vector<SpanRows> spans;
    std::vector<std::int32_t> labels;
    std::vector<std::int64_t> train, dev, test;

    explicit Signs(std::size_t layers, std::size_t known, bool second = false) {
        std::int64_t rows = 0;
        const auto span = [&](std::int64_t i) {
            const std::int64_t begin = rows;
            rows += 2 + static_cast<std::int64_t>(draw(1, i, 0) % 3);
            return std::pair(begin, rows);
        };
        for (std::int64_t i = 0; i < kExamples; ++i) {
            const auto [begin, end] = span(i);
            spans.push_back({begin, end});
            (i % 3 == 0 ? dev : i % 3 == 1 ? test : train).push_back(i);
        }
        Rows x(rows, 4);
        for (std::int64_t k = 0; k < x.size(); ++k) x.data()[k] = draw(2, k, 0) % 2 ? 1.0F : -1.0F;
        for (std::int64_t i = 0; i < kExamples; ++i) {
            const SpanRows& of = spans[static_cast<std::size_t>(i)];
            const std::int64_t told = of.begin + static_cast<std::int64_t>(draw(3, i, 0) % 2) * (of.end - of.begin - 1);
            for (std::int64_t row = of.begin; row < of.end; ++row) x(row, 2) = row == told ? 1.0F : 0.0F;
            labels.push_back(x(told, 0) * x(told, 1) > 0);
        }
        for (std::size_t l = 0; l < layers; ++l) states.push_back(l == known ? x : Rows(Rows::Ones(rows, 4)));
        // Of pairs only the second span has the label; the first is that of the example before.
        if (second)
            for (std::size_t i = spans.size(); i-- > 0;) {
                const SpanRows& before = spans[i > 0 ? i - 1 : 0];
                spans[i] = {before.begin, before.end, spans[i].begin, spans[i].end};
            }
    }
    LayerMixTask task() const {
        LayerMixTask out{.layers = {}, .labels = labels, .classes = 2, .train = train, .dev = dev, .test = test, .spans = spans};
        for (const Rows& x : states) out.layers.emplace_back(x.data(), x.rows(), x.cols());
        return out;
    }
};

const LayerMixOptions kQuick{.seeds = 1, .learning_rate = 0.01, .batch = 16, .edge = {.width = 32, .dropout = 0.1}};

TEST(MixEdge, FindsTheTokenAndWhatNoLinearProbeOfTheMeanCanSee) {
    const Signs signs(1, 0), of_second(1, 0, true);
    const LayerMix edge = fit_layer_mix(signs.task(), kQuick);
    EXPECT_GT(edge.steps[0].score, 0.97);
    EXPECT_GT(fit_layer_mix(of_second.task(), kQuick).steps[0].score, 0.97);
    Rows means(Signs::kExamples, 4);
    for (std::int64_t i = 0; i < Signs::kExamples; ++i) {
        const SpanRows& of = signs.spans[static_cast<std::size_t>(i)];
        means.row(i) = signs.states[0].middleRows(of.begin, of.end - of.begin).colwise().mean();
    }
    LayerMixTask linear = signs.task();
    linear.spans = {};
    linear.layers.clear();
    linear.layers.emplace_back(means.data(), means.rows(), means.cols());
    EXPECT_LT(fit_layer_mix(linear, kQuick).steps[0].score, 0.65);
}

TEST(MixEdge, WhatOnlyLayerThreeKnowsIsExpectedAtLayerThree) {
    const Signs signs(5, 3);
    const LayerMix mix = fit_layer_mix(signs.task(), kQuick);
    EXPECT_NEAR(mix.expected, 3.0, 0.1);
    EXPECT_NEAR(mix.steps[2].score, 0.5, 0.06);
    EXPECT_GT(mix.steps[3].score, 0.97);
    EXPECT_GT(mix.steps[4].weights[3], 0.25);
}

TEST(MixEdge, HasTheSameBitsOnAnyNumberOfThreadsAndOthersFromAnotherSeed) {
    const Signs signs(3, 1);
    LayerMixOptions options = kQuick;
    options.epochs = 3;
    options.seeds = 2;
    std::vector<LayerMix> mixes;
    for (const int n : {1, 3}) mixes.push_back(on_threads(n, [&] { return fit_layer_mix(signs.task(), options); }));
    options.seed = 1;
    mixes.push_back(fit_layer_mix(signs.task(), options));
    for (std::size_t l = 0; l < 3; ++l) {
        EXPECT_EQ(mixes[0].steps[l].weights, mixes[1].steps[l].weights);
        EXPECT_EQ(mixes[0].steps[l].hits, mixes[1].steps[l].hits);
    }
    EXPECT_NE(mixes[0].steps[2].weights, mixes[2].steps[2].weights);
}

TEST(MixEdge, RefusesSpansThatAreNotThere) {
    Signs signs(1, 0);
    LayerMixOptions once = kQuick;
    once.epochs = 1;
    const auto refused = [&] { EXPECT_THROW(fit_layer_mix(signs.task(), once), Error); };
    const SpanRows first = signs.spans[0];
    signs.spans[0].end = signs.spans[0].begin;
    refused();
    signs.spans[0] = {first.begin, signs.states[0].rows() + 1};
    refused();
    signs.spans[0] = {first.begin, first.end, 0, 1};  // a pair among single spans
    refused();
    signs.spans[0] = first;
    signs.spans.pop_back();
    refused();
    LayerMixOptions dropped = kQuick;
    dropped.edge.dropout = 1;
    EXPECT_THROW(fit_layer_mix(Signs(1, 0).task(), dropped), Error);
}

}  // namespace mix_edge_test
}  // namespace headlight::corpus
