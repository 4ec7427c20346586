// SPDX-License-Identifier: GPL-3.0-or-later
// Rectangular maps of the attention from a target to its source, and what a decoder behind an encoder has or refuses.
#include "headlight/analyze/attribution.h"
#include "headlight/analyze/contributions.h"
#include "headlight/analyze/copy_suppression.h"
#include "headlight/analyze/drivers.h"
#include "headlight/analyze/focus.h"
#include "headlight/analyze/head_table.h"
#include "headlight/analyze/importance.h"
#include "headlight/analyze/neuron_view.h"
#include "headlight/analyze/pair_chain.h"
#include "headlight/analyze/pattern_view.h"
#include "headlight/analyze/rollout.h"
#include "headlight/analyze/value_mix.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "analyze/traces.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::Stack;

TracePtr run_pair(const std::string& name, Stack part = Stack::decoder) {
    const auto folder = source_folder() / "tests/fixtures/encoder_decoders" / name;
    return trace::part_of(run_model(folder, "the cat, the hat: the cat", "die Katze, die"), part);
}

class CrossMaps : public testing::TestWithParam<std::string> {
protected:
    TracePtr cross = run_pair(GetParam(), Stack::cross);
    HeadId head{Layer(1), Head(1)};
    at::Tensor pattern() const { return trace::tensor(*cross, {Hook::pattern, head.layer})[head.head.value].contiguous(); }
};

TEST_P(CrossMaps, RowsAreTheTargetAndColumnsTheSource) {
    const at::Tensor p = pattern();
    const PatternAxes axes = pattern_axes(*cross, {});
    ASSERT_EQ(axes.queries.size(), static_cast<std::size_t>(cross->tokens()));
    ASSERT_EQ(axes.keys.size(), static_cast<std::size_t>(cross->keys()));
    ASSERT_NE(cross->tokens(), cross->keys());
    for (std::size_t i = 0; i < axes.queries.size(); ++i) EXPECT_EQ(axes.queries[i].special, cross->encoding().special[i]);
    for (std::size_t j = 0; j < axes.keys.size(); ++j) EXPECT_EQ(axes.keys[j].label, cross->key_labels()[j].text);
    const Matrix map = analyze::pattern(*cross, head, {});
    ASSERT_EQ(map.rows(), cross->tokens());
    ASSERT_EQ(map.cols(), cross->keys());
    for (Eigen::Index i = 0; i < map.rows(); ++i)
        for (Eigen::Index j = 0; j < map.cols(); ++j) ASSERT_FLOAT_EQ(map(i, j), p[i][j].item<float>());
    EXPECT_LE((pattern_row(*cross, {head}, 2, {}).row(0) - map.row(2)).cwiseAbs().maxCoeff(), 1e-6F);
    const auto last = static_cast<std::int64_t>(map.cols()) - 1;
    EXPECT_LE((pattern_column(*cross, {head}, last, {}).row(0).transpose() - map.col(last)).cwiseAbs().maxCoeff(), 1e-6F);
    const PooledMap pooled = pooled_pattern(*cross, head, {}, 3);
    EXPECT_EQ(pooled.max.rows(), 3);
    EXPECT_EQ(pooled.max.cols(), 3);
    EXPECT_FLOAT_EQ(pooled.max.maxCoeff(), map.maxCoeff());
}

TEST_P(CrossMaps, HidingAndWordsGoByEachTextsOwnTokens) {
    PatternOptions options{.hide_special = true, .merge_words = true};
    const PatternAxes axes = pattern_axes(*cross, options);
    std::int64_t shown = 0;
    for (const bool special : cross->key_encoding().special) shown += !special;
    std::int64_t covered = 0;
    for (const AxisItem& item : axes.keys) covered += item.count;
    EXPECT_EQ(covered, shown);
    const Matrix map = analyze::pattern(*cross, head, options);
    for (Eigen::Index i = 0; i < map.rows(); ++i) EXPECT_NEAR(map.row(i).sum(), 1, 1e-5);
    options = {.weighting = Weighting::output_norm};
    const Matrix weighted = analyze::pattern(*cross, head, options);
    ASSERT_EQ(weighted.cols(), cross->keys());
    for (Eigen::Index i = 0; i < weighted.rows(); ++i) EXPECT_NEAR(weighted.row(i).sum(), 1, 1e-5);
    EXPECT_THROW(analyze::pattern(*cross, head, {.weighting = Weighting::layer_mix}), Error);
}

TEST_P(CrossMaps, OneQueryNumberByNumber) {
    for (const Stack stack : {Stack::encoder, Stack::decoder, Stack::cross}) {
        const TracePtr part = run_pair(GetParam(), stack);
        const NeuronView view = neuron_view(*part, head, Position(2));
        ASSERT_EQ(view.weight.size(), part->keys());
        EXPECT_EQ(!view.position.empty(), part->config().positions == model::Positions::relative);
        const at::Tensor scores = trace::score_rows(*part, head.layer, head.head, 2, 1)[0].contiguous();
        for (Eigen::Index j = 0; j < view.weight.size(); ++j) {
            if (std::isnan(view.score[j])) continue;
            const float position = view.position.empty() ? 0.0F : view.position[static_cast<std::size_t>(j)];
            EXPECT_NEAR(view.dot[j] + position, view.score[j], 1e-5);
            EXPECT_NEAR(view.score[j], scores[j].item<float>(), 1e-4);
        }
        EXPECT_NEAR(view.weight.sum(), 1, 1e-5);
        const PairChain chain = pair_chain(*part, head, Position(2), Position(1));
        EXPECT_NEAR(chain.score, scores[1].item<double>(), 1e-4);
        EXPECT_EQ(chain.position.has_value(), !view.position.empty());
    }
    EXPECT_THROW(pair_chain(*cross, head, Position(0), Position(cross->keys())), Error);
}

TEST_P(CrossMaps, TheHeadTableHasWhatTwoTextsHave) {
    const HeadTable table = head_table(*cross);
    EXPECT_FALSE(std::isnan((*table.find("entropy"))(1, 1)));
    EXPECT_TRUE(std::isnan((*table.find("share_self"))(1, 1)));
    EXPECT_TRUE(std::isnan((*table.find("induction"))(1, 1)));
    const InterestingPair pair = interesting_pair(*cross, interesting_head(table));
    EXPECT_LT(pair.query.value, cross->tokens());
    EXPECT_LT(pair.key.value, cross->keys());
}

TEST_P(CrossMaps, WhatIsOfOneTextOrOneStackSaysSo) {
    EXPECT_THROW(rollout(*cross), Error);
    EXPECT_THROW(value_mix(*cross, Layer(0), MixScope::attention), Error);
    EXPECT_THROW(focus_facts(*cross, head), Error);
    const TracePtr decoder = run_pair(GetParam());
    EXPECT_THROW(rollout(*decoder), Error);
    EXPECT_THROW(contribution_graph(*decoder, Position(2)), Error);
    EXPECT_THROW(suppressed_pairs(*decoder, head, {}), Error);
    EXPECT_THROW(importance(*decoder->model(), *decoder->tokenizer(), decoder->encoding(), Position(2)), Error);
    EXPECT_NO_THROW(value_mix(*decoder, Layer(0), MixScope::attention));
    EXPECT_NO_THROW(rollout(*run_pair(GetParam(), Stack::encoder)));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, CrossMaps, testing::Values("t5", "t5-v1_1", "mt5", "bart", "mbart", "marian"), [](const auto& instance) {
    std::string name = instance.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

double cross_part(const Split& split) {
    double sum = 0;
    for (const Contribution& part : split.parts)
        if (part.component == Component::cross) sum += part.value;
    return sum;
}

/// The parts are all that was written into the stream: the cross attention is one of them.
TEST(DecoderAttribution, SumsToTheLogitWithTheCrossAttention) {
    for (const char* name : {"t5", "t5-v1_1", "mt5", "mbart"}) {
        const TracePtr decoder = run_pair(name);
        const Split split = attribution(*decoder, Position(3), {.token = 7});
        EXPECT_NEAR(split.sum, split.total, 1e-4 * std::max(1.0, std::abs(split.total))) << name;
        EXPECT_GT(std::abs(cross_part(split)), 1e-3) << name << ": proves nothing";
    }
    EXPECT_THROW(attribution(*run_pair("bart"), Position(3), {.token = 7}), Error);
}

TEST(DecoderDrivers, SumToThePreActivationAlsoBehindNorms) {
    for (const char* name : {"t5", "t5-v1_1", "bart", "mbart", "marian"}) {
        const TracePtr decoder = run_pair(name);
        const Split split = neuron_drivers(*decoder, {Layer(1), Neuron(3)}, Position(3));
        EXPECT_NEAR(split.sum, split.total, 1e-4 * std::max(1.0, std::abs(split.total))) << name;
        EXPECT_GT(std::abs(cross_part(split)), 1e-4) << name;
    }
}

}  // namespace
}  // namespace headlight::analyze
