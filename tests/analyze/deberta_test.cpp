// SPDX-License-Identifier: GPL-3.0-or-later
// Disentangled attention in the views: each term of the score has a column, and the columns sum to the score.
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/analyze/pattern/neuron_view.h"
#include "headlight/analyze/pattern/pair_chain.h"
#include "headlight/analyze/rollout/rollout.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/traces.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace headlight::analyze {
namespace deberta_test {

using model::Hook;
using model::HookPoint;

constexpr const char* sentence = "the cat, the hat: the cat";

std::filesystem::path folder_of(const char* name) { return source_folder() / "tests/fixtures/models" / name; }

TEST(DebertaTerms, ScoreIsContentAndTheTermsOfTheModel) {
    const std::vector<std::pair<const char*, std::vector<std::string>>> models = {
        {"deberta", {"c2p", "p2c"}}, {"deberta-c2p", {"c2p"}}, {"deberta-p2c", {"p2c"}}};
    for (const auto& [name, terms] : models) {
        SCOPED_TRACE(name);
        const TracePtr trace = run_model(folder_of(name), sentence);
        const HeadId id{Layer(1), Head(1)};
        const Position query(3);
        const NeuronView view = neuron_view(*trace, id, query);
        ASSERT_EQ(view.terms.size(), terms.size());
        EXPECT_TRUE(view.position.empty()) << "the terms have columns of their own";
        const at::Tensor scores = trace::score_rows(*trace, id.layer, id.head, query.value, 1)[0];
        for (std::int64_t j = 0; j < trace->tokens(); ++j) {
            double sum = view.scale * view.products.row(j).cast<double>().sum(), position = 0;
            for (std::size_t t = 0; t < terms.size(); ++t) {
                EXPECT_EQ(view.terms[t].name, terms[t]);
                const Hook hook = terms[t] == "c2p" ? Hook::c2p : Hook::p2c;
                EXPECT_EQ(view.terms[t].values[j],
                          trace::tensor(*trace, {hook, id.layer})[id.head.value][query.value][j].item<float>());
                position += view.terms[t].values[j];
            }
            EXPECT_NEAR(sum + position, scores[j].item<double>(), 1e-5);
            const PairChain chain = pair_chain(*trace, id, query, Position(j), 0);
            ASSERT_TRUE(chain.position.has_value());
            EXPECT_NEAR(*chain.position, position, 1e-6);
        }
    }
}

/// A replaced term goes into the scores, the pattern and everything that is read from the trace later.
TEST(DebertaTerms, AReplacedTermIsPartOfTheScore) {
    const TracePtr plain = run_model(folder_of("deberta"), sentence);
    const auto changed =
        trace::run_with_hooks(plain->model(), plain->tokenizer(), {.text = sentence}, {},
                              {{"blocks.1.attn.hook_c2p", [](HookPoint, const at::Tensor& t) { return at::zeros_like(t); }}});
    const at::Tensor without =
        trace::tensor(*plain, {Hook::attn_scores, Layer(1)}) - trace::tensor(*plain, {Hook::c2p, Layer(1)});
    const at::Tensor scores = trace::tensor(*changed, {Hook::attn_scores, Layer(1)});
    EXPECT_LE((scores - without).abs().max().item<double>(), 1e-5);
    EXPECT_LE((trace::tensor(*changed, {Hook::pattern, Layer(1)}) - at::softmax(scores, -1)).abs().max().item<double>(), 1e-6);
    EXPECT_EQ(trace::relative_rows(*changed, Layer(1), Head(0), 0, 2).c2p.abs().max().item<double>(), 0);
    const at::Tensor pairs = at::arange(3, at::kLong);
    const at::Tensor sum = trace::relative_pairs(*changed, Layer(1), Head(1), pairs, pairs + 1);
    const at::Tensor p2c = trace::tensor(*plain, {Hook::p2c, Layer(1)})[1];
    for (std::int64_t i = 0; i < 3; ++i) EXPECT_NEAR(sum[i].item<double>(), p2c[i][i + 1].item<double>(), 1e-6);
}

/// What the convolution adds has a part of its own in every number behind it, and none in those of layer 0.
TEST(DebertaConvolution, IsAPartOfWhatIsReadBehindIt) {
    for (const char* name : {"deberta-conv", "deberta-conv-groups"}) {
        SCOPED_TRACE(name);
        const TracePtr trace = run_model(folder_of(name), sentence);
        const auto of_convolution = [](const Decomposition& split) {
            return std::ranges::count(split.parts, Component::conv, &Contribution::component);
        };
        double largest = 0;
        for (std::int64_t p = 0; p < trace->tokens(); ++p) {
            const Decomposition behind = neuron_drivers(*trace, {Layer(1), Neuron(2)}, Position(p));
            EXPECT_EQ(of_convolution(behind), 1);
            EXPECT_EQ(of_convolution(neuron_drivers(*trace, {Layer(0), Neuron(2)}, Position(p))), 0);
            largest =
                std::max(largest, std::abs(std::ranges::find(behind.parts, Component::conv, &Contribution::component)->value));
        }
        EXPECT_GT(largest, 0.01) << "nothing there: proves nothing";
        EXPECT_STREQ(name_of(Component::conv), "conv");
    }
}

/// Attention through the layers knows nothing of it, and says so.
TEST(DebertaConvolution, IsToldWhereItIsNotCounted) {
    const TracePtr with = run_model(folder_of("deberta-conv"), sentence), without = run_model(folder_of("deberta"), sentence);
    const auto told = testing::Contains(testing::HasSubstr("convolution"));
    EXPECT_THAT(rollout(*with).notes, told);
    EXPECT_THAT(attention_flow(*with).notes, told);
    EXPECT_THAT(rollout_paths(*with, Layer(1), Position(2)).notes, told);
    EXPECT_THAT(rollout(*without).notes, testing::Not(told));
    EXPECT_THROW(trace::token_streams(*with->model(), 0, 2, true), Error);
    EXPECT_NO_THROW(trace::token_streams(*with->model(), 0, 2, false));
}

/// Nothing of [head, query, key] is kept unless somebody asks.
TEST(DebertaTerms, TermsAreMadeOnDemand) {
    const TracePtr trace = run_model(folder_of("deberta"), sentence);
    EXPECT_THAT(trace->kept(), testing::Not(testing::Contains(HookPoint{Hook::c2p, Layer(0)})));
    EXPECT_TRUE(trace->has({Hook::c2p, Layer(0)}) && trace->has({Hook::p2c, Layer(1)}));
}

}  // namespace deberta_test
}  // namespace headlight::analyze
