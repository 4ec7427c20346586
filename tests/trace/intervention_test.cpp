// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/error_of.h"
#include "tests/trace/novella.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::trace {
namespace intervention_test {

using model::Hook;
using model::HookPoint;
using testing::HasSubstr;
using namespace testing_support;

const HookPoint kLogits{Hook::logits, Layer(0)};

at::Tensor without_head(const at::Tensor& t, std::int64_t head) {
    at::Tensor changed = t.clone();
    changed.select(1, head).zero_();
    return changed;
}

std::string error_of(const std::string& glob, const HookFn& fn) {
    return test::error_of([&] { Novella::get().run_with(kSentence, {{glob, fn}}); });
}

TEST(Interventions, AHookThatOnlyLooksChangesNoBit) {
    std::int64_t calls = 0;
    const auto looked = Novella::get().run_with(kSentence, {{"all", [&](HookPoint, const at::Tensor& t) {
                                                                 ++calls;
                                                                 return t;
                                                             }}});
    const auto plain = Novella::get().run(kSentence);
    EXPECT_EQ(calls, static_cast<std::int64_t>(model::hooks_of(plain->config()).size()));
    EXPECT_EQ(looked->kept(), plain->kept());
    for (const HookPoint& point : plain->kept()) {
        EXPECT_TRUE(at::equal(tensor(*looked, point), tensor(*plain, point))) << name_of(point);
    }
}

TEST(Interventions, ZeroingAHeadsZEqualsRemovingItsResult) {
    const auto by_z = Novella::get().run_with(
        kSentence, {{"blocks.4.attn.hook_z", [](HookPoint, const at::Tensor& t) { return without_head(t, 7); }}});
    const auto by_result = Novella::get().run_with(
        kSentence, {{"blocks.4.attn.hook_result", [](HookPoint, const at::Tensor& t) { return without_head(t, 7); }}});
    const at::Tensor a = tensor(*by_z, kLogits), b = tensor(*by_result, kLogits);
    EXPECT_LE(largest_difference(a, b), 2e-5 * a.abs().max().item<double>());
    EXPECT_GT(largest_difference(a, tensor(*Novella::get().run(kSentence), kLogits)), 0.01);
    EXPECT_EQ(tensor(*by_result, {Hook::result, Layer(4)}).select(1, 7).abs().max().item<float>(), 0.0F);
    EXPECT_EQ(tensor(*by_z, {Hook::result, Layer(4)}).select(1, 7).abs().max().item<float>(), 0.0F);
}

TEST(Interventions, AReplacedPatternIsUsedKeptAndSummarised) {
    // every query of layer 3's head 2 attends to the first token only
    const auto trace = Novella::get().run_with(kSentence, {{"blocks.3.attn.hook_pattern", [](HookPoint, const at::Tensor& t) {
                                                                at::Tensor changed = t.clone();
                                                                changed[2].zero_();
                                                                changed[2].select(1, 0).fill_(1);
                                                                return changed;
                                                            }}});
    const at::Tensor rows = pattern_rows(*trace, Layer(3), Head(2), 0, trace->tokens());
    EXPECT_EQ(rows.select(1, 0).min().item<float>(), 1.0F);
    EXPECT_EQ(rows.sum().item<float>(), static_cast<float>(trace->tokens()));
    EXPECT_TRUE(at::equal(pattern_column(*trace, Layer(3), Head(2), Position(0)), rows.select(1, 0)));
    EXPECT_EQ(trace->pooled(Layer(3), Head(2)).max[static_cast<std::size_t>(5 * trace->tokens())], 1.0F);
    const at::Tensor z = tensor(*trace, {Hook::z, Layer(3)}).select(1, 2), v = tensor(*trace, {Hook::v, Layer(3)}).select(1, 2);
    EXPECT_LE(largest_difference(z[7], v[0]), 1e-6);
    EXPECT_THAT(trace->kept(), testing::Contains(HookPoint{Hook::pattern, Layer(3)}));
    // the scores are still those of q and k, and other heads are untouched
    EXPECT_TRUE(at::equal(score_rows(*trace, Layer(3), Head(2), 0, 4),
                          score_rows(*Novella::get().run(kSentence), Layer(3), Head(2), 0, 4)));
}

TEST(Interventions, ReplacedScoresGiveThePatternThatWasUsed) {
    const auto trace = Novella::get().run_with(
        kSentence, {{"blocks.1.attn.hook_attn_scores", [](HookPoint, const at::Tensor& t) { return t * 0.5; }}});
    const at::Tensor scores = tensor(*trace, {Hook::attn_scores, Layer(1)});
    EXPECT_LE(largest_difference(tensor(*trace, {Hook::pattern, Layer(1)}), at::softmax(scores, -1)), 1e-6);
    const auto plain = Novella::get().run(kSentence);
    EXPECT_LE(
        largest_difference(scores[0][9].narrow(0, 0, 9) * 2, score_rows(*plain, Layer(1), Head(0), 9, 1)[0].narrow(0, 0, 9)),
        1e-5);
}

TEST(Interventions, QueriesResidualAndNeuronsCanBeReplaced) {
    const auto plain = Novella::get().run(kSentence);
    for (const char* glob : {"blocks.2.attn.hook_q", "blocks.2.attn.hook_k", "blocks.2.attn.hook_v", "blocks.2.hook_resid_pre",
                             "blocks.2.hook_resid_mid", "blocks.2.mlp.hook_post", "blocks.2.mlp.hook_pre", "hook_embed",
                             "blocks.2.hook_attn_out", "blocks.2.hook_mlp_out", "blocks.2.ln1.hook_scale"}) {
        SCOPED_TRACE(glob);
        const auto changed = Novella::get().run_with(kSentence, {{glob, [](HookPoint, const at::Tensor& t) { return t * 1.5; }}});
        const HookPoint point = *model::parse_hook(glob);
        EXPECT_TRUE(at::equal(tensor(*changed, point), tensor(*plain, point) * 1.5));
        EXPECT_GT(largest_difference(tensor(*changed, kLogits), tensor(*plain, kLogits)), 1e-3);
        const HookPoint before{Hook::resid_mid, Layer(0)};
        EXPECT_EQ(at::equal(tensor(*changed, before), tensor(*plain, before)), std::string(glob) != "hook_embed");
    }
    // later layers read the replaced one: the pattern is that of the changed q
    const auto silent = Novella::get().run_with(
        kSentence, {{"blocks.2.attn.hook_q", [](HookPoint, const at::Tensor& t) { return at::zeros_like(t); }}});
    const at::Tensor row = pattern_rows(*silent, Layer(2), Head(0), 3, 1)[0],
                     term = position_rows(*silent, Layer(2), Head(0), 3, 1)[0];
    EXPECT_LE(largest_difference(row, at::softmax(term, -1)), 1e-6);
}

TEST(Interventions, FunctionsAreCalledInOrderEachOnTheResultOfTheLast) {
    const auto both = Novella::get().run_with(
        kSentence,
        {{"blocks.0.hook_resid_pre", [](HookPoint, const at::Tensor& t) { return t + 1; }},
         {"blocks.*.hook_resid_pre", [](HookPoint p, const at::Tensor& t) { return p.layer.value == 0 ? t * 2 : t; }}});
    const auto plain = Novella::get().run(kSentence);
    const HookPoint point{Hook::resid_pre, Layer(0)};
    EXPECT_TRUE(at::equal(tensor(*both, point), (tensor(*plain, point) + 1) * 2));
}

TEST(Interventions, AReplacementThatDoesNotFitNamesTheHook) {
    EXPECT_THAT(error_of("blocks.1.attn.hook_z", [](HookPoint, const at::Tensor& t) { return t.narrow(0, 0, 2); }),
                testing::AllOf(HasSubstr("blocks.1.attn.hook_z"), HasSubstr("[2, 8, 32]")));
    EXPECT_THAT(error_of("blocks.1.mlp.hook_post", [](HookPoint, const at::Tensor& t) { return t.to(at::kDouble); }),
                testing::AllOf(HasSubstr("blocks.1.mlp.hook_post"), HasSubstr("Double")));
    EXPECT_THAT(error_of("logits", [](HookPoint, const at::Tensor&) { return at::Tensor(); }), HasSubstr("nothing"));
    EXPECT_THAT(error_of("blocks.0.hook_resid_mid", [](HookPoint, const at::Tensor& t) { return at::Tensor(t).add_(1); }),
                testing::AllOf(HasSubstr("blocks.0.hook_resid_mid"), HasSubstr("in place")));
    EXPECT_THAT(error_of("blocks.0.attn.hook_zz", [](HookPoint, const at::Tensor& t) { return t; }), HasSubstr("hook_z"));
}

TEST(Interventions, TheCallersTensorIsNotTheTraces) {
    at::Tensor mine;
    const auto trace = Novella::get().run_with(
        kSentence, {{"blocks.5.hook_resid_mid", [&](HookPoint, const at::Tensor& t) { return mine = t + 1; }}});
    const HookPoint point{Hook::resid_mid, Layer(5)};
    const at::Tensor before = tensor(*trace, point).clone();
    mine.zero_();
    EXPECT_TRUE(at::equal(tensor(*trace, point), before));
}

}  // namespace intervention_test
}  // namespace headlight::trace
