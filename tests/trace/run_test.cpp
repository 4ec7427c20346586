// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/error_of.h"
#include "tests/trace/novella.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace headlight::trace {
namespace run_test {

using model::Hook;
using model::HookPoint;
using test::error_of;
using testing::AllOf;
using testing::HasSubstr;
using namespace testing_support;

std::string words(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += i % 7 == 3 ? " the" : i % 5 == 0 ? " house" : " stood";
    return text;
}

TEST(Run, KeepsWhatWasAskedForInTheShapesOfTheHooks) {
    const auto trace = Novella::get().run(kSentence, CapturePlan::everything());
    const model::ModelConfig& c = trace->config();
    EXPECT_EQ(trace->kept(), model::hooks_of(c));
    for (const HookPoint& point : model::hooks_of(c)) {
        ASSERT_TRUE(trace->has(point)) << name_of(point);
        const at::Tensor t = tensor(*trace, point);
        EXPECT_EQ(t.sizes().vec(), model::shape_of(point, c, trace->tokens())) << name_of(point);
        EXPECT_EQ(t.scalar_type(), at::kFloat) << name_of(point);
    }
    EXPECT_EQ(static_cast<std::int64_t>(trace->labels().size()), trace->tokens());
    EXPECT_EQ(trace->text_a(), kSentence);
    EXPECT_GT(trace->info().seconds, 0.0);
    EXPECT_EQ(trace->info().dtype, "float32");
    EXPECT_TRUE(trace->info().warnings.empty());
}

TEST(Run, WhatWasNotAskedForIsNotThereAndSaysSo) {
    const auto trace = Novella::get().run(kSentence, {.globs = {"blocks.2.attn.hook_z"}, .overview = no_overview});
    EXPECT_TRUE(trace->has({Hook::result, Layer(2)}));  // z gives it
    EXPECT_FALSE(trace->has({Hook::z, Layer(1)}));
    EXPECT_FALSE(trace->has({Hook::pattern, Layer(2)}));
    EXPECT_THAT(error_of([&] { tensor(*trace, {Hook::pattern, Layer(2)}); }), HasSubstr("blocks.2.attn.hook_q"));
    EXPECT_THAT(error_of([&] { pattern_rows(*trace, Layer(2), Head(0), 0, 1); }), HasSubstr("blocks.2.attn.hook_q"));
    EXPECT_FALSE(trace->overview().any());
    EXPECT_THAT(error_of([&] { trace->pooled(Layer(0), Head(0)); }), HasSubstr("overview"));
    EXPECT_EQ(trace->bytes(), trace->tokens() * 256 * 4);
}

TEST(Run, CachingChangesNothing) {
    const HookPoint logits{Hook::logits, Layer(0)};
    const auto plain = Novella::get().run(kSentence, {.globs = {"logits"}, .overview = no_overview});
    for (const CapturePlan& plan : {CapturePlan(), CapturePlan::everything()}) {
        EXPECT_TRUE(at::equal(tensor(*plain, logits), tensor(*Novella::get().run(kSentence, plan), logits)));
    }
}

TEST(Run, EveryHookSeenInThePassEqualsTheTraceLater) {
    std::map<HookPoint, at::Tensor> seen;
    const auto watched = Novella::get().run_with(words(150), {{"all", [&](HookPoint point, const at::Tensor& t) {
                                                                   seen[point] = t;
                                                                   return t;
                                                               }}});
    const auto trace = Novella::get().run(words(150), CapturePlan::everything());
    ASSERT_EQ(seen.size(), model::hooks_of(trace->config()).size());
    for (const auto& [point, t] : seen) {
        const at::Tensor later = tensor(*trace, point);
        if (point.hook == Hook::result) {  // other products, same numbers
            EXPECT_LE(largest_difference(t, later), 2e-6 * t.abs().max().item<double>()) << name_of(point);
        } else {
            EXPECT_TRUE(at::equal(t, later)) << name_of(point);
        }
    }
}

TEST(Run, PatternsOnDemandEqualThoseOfTheRun) {
    const std::string text = words(200);
    std::map<std::int64_t, at::Tensor> used;
    const auto trace = Novella::get().run_with(text, {{"*.hook_pattern", [&](HookPoint point, const at::Tensor& t) {
                                                           used[point.layer.value] = t;
                                                           return t;
                                                       }}});
    for (const auto& [layer, pattern] : used) {
        for (std::int64_t head = 0; head < 8; head += 3) {
            const at::Tensor expected = pattern[head];
            EXPECT_LE(largest_difference(pattern_rows(*trace, Layer(layer), Head(head), 70, 80), expected.narrow(0, 70, 80)),
                      1e-6);
            std::atomic<std::int64_t> rows = 0;
            for_pattern_rows(*trace, Layer(layer), head, 2, 2, [&](std::int64_t at, std::int64_t first, const at::Tensor& part) {
                rows += part.size(1);
                const at::Tensor own = pattern[at + 1].narrow(0, first, part.size(1));
                EXPECT_TRUE(at::equal(part[1], own.narrow(1, 0, part.size(2))));
                EXPECT_EQ(own.narrow(1, part.size(2), own.size(1) - part.size(2)).count_nonzero().item<std::int64_t>(), 0);
            });
            EXPECT_EQ(rows, trace->tokens());
            EXPECT_LE(
                largest_difference(pattern_column(*trace, Layer(layer), Head(head), Position(130)), expected.select(1, 130)),
                1e-6);
            const at::Tensor scores = score_rows(*trace, Layer(layer), Head(head), 0, trace->tokens());
            EXPECT_LE(largest_difference(at::softmax(scores, -1), expected), 1e-6);
            EXPECT_TRUE(at::isinf(scores[5][6]).item<bool>());
        }
        EXPECT_LE(largest_difference(tensor(*trace, {Hook::pattern, Layer(layer)}), pattern), 1e-6);
    }
    EXPECT_EQ(used.size(), 6U);
}

TEST(Run, PositionTermOfAlibiFallsWithTheDistance) {
    const auto trace = Novella::get().run(kSentence);
    const at::Tensor term = position_rows(*trace, Layer(1), Head(2), 4, 3);  // slope of head 2 of 8: 2^-3
    EXPECT_DOUBLE_EQ(term[0][4].item<double>(), 0.0);
    EXPECT_DOUBLE_EQ(term[0][1].item<double>(), -0.375);
    EXPECT_DOUBLE_EQ(term[2][0].item<double>(), -0.75);
    EXPECT_TRUE(at::isinf(term[0][5]).item<bool>());
    // what is left of the score is scale q k^T
    const at::Tensor q = tensor(*trace, {Hook::q, Layer(1)}).select(1, 2), k = tensor(*trace, {Hook::k, Layer(1)}).select(1, 2);
    const at::Tensor content = score_rows(*trace, Layer(1), Head(2), 4, 3) - term;
    const at::Tensor expected = at::matmul(q.narrow(0, 4, 3), k.t()) * trace->config().score_scale;
    EXPECT_LE(largest_difference(content.narrow(1, 0, 5), expected.narrow(1, 0, 5)), 2e-5);
}

TEST(Run, MemoryGrowsWithTheTextNotWithItsSquare) {
    const auto bytes = [](int count) {
        const auto trace = Novella::get().run(words(count), CapturePlan::everything());
        return static_cast<double>(trace->bytes()) / static_cast<double>(trace->tokens());
    };
    const double a_token = bytes(1200);
    EXPECT_LT(a_token, bytes(400));  // the overview is bounded
    EXPECT_NEAR(a_token, 4.0 * (8192 + 256 * (1 + 2) + 6 * (256 * (4 + 4 + 2) + 1024)), 12000);
}

TEST(Run, EqualInputGivesEqualBits) {
    const auto a = Novella::get().run(kSentence), b = Novella::get().run(kSentence);
    for (const HookPoint& point : a->kept()) EXPECT_TRUE(at::equal(tensor(*a, point), tensor(*b, point))) << name_of(point);
    EXPECT_EQ(a->pooled(Layer(5), Head(7)).mean, b->pooled(Layer(5), Head(7)).mean);
}

TEST(Run, SeveralThreadsAtOnce) {
    const std::vector<std::string> texts = {kSentence, words(60), words(130), "One word."};
    std::vector<std::shared_ptr<const Trace>> alone, together(texts.size());
    for (const std::string& text : texts) alone.push_back(Novella::get().run(text));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        threads.emplace_back([&, i] { together[i] = Novella::get().run(texts[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    const HookPoint logits{Hook::logits, Layer(0)};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_LE(largest_difference(tensor(*alone[i], logits), tensor(*together[i], logits)), 1e-4) << i;
        EXPECT_THAT(together[i]->pooled(Layer(3), Head(0)).mean,
                    testing::Pointwise(testing::FloatNear(1e-5F), alone[i]->pooled(Layer(3), Head(0)).mean));
    }
}

TEST(Run, ATextWithNothingInItIsAnError) {
    EXPECT_THAT(error_of([] { Novella::get().run(""); }), HasSubstr("empty text"));
    EXPECT_THAT(error_of([] { run(nullptr, nullptr, {.text = "a", .pair = {}}); }), HasSubstr("model"));
}

TEST(Run, TakesTokenIdsInsteadOfAText) {
    const Novella& n = Novella::get();
    const auto typed = n.run(kSentence);
    const auto& all = typed->encoding().ids;
    const std::vector<std::int64_t> ids(all.begin() + 1, all.end());  // <s> comes by itself
    const auto trace = run(n.model, n.tokenizer, {.text = {}, .pair = {}, .ids = ids});
    EXPECT_EQ(trace->encoding().ids, all);
    EXPECT_TRUE(at::equal(tensor(*trace, {Hook::logits, Layer(0)}), tensor(*typed, {Hook::logits, Layer(0)})));
    EXPECT_EQ(trace->text_a(), "");
    EXPECT_EQ(trace->labels().size(), all.size());
    EXPECT_THAT(error_of([&] { run(n.model, n.tokenizer, {.text = "a", .pair = {}, .ids = ids}); }), HasSubstr("not both"));
    EXPECT_THAT(error_of([&] { run(n.model, n.tokenizer, {.text = {}, .pair = {}, .ids = {7, 99999}}); }), HasSubstr("token 1"));
}

TEST(Run, OneTokenWorks) {
    const Novella& n = Novella::get();
    const auto trace = run(n.model, n.tokenizer, {.text = "a", .pair = {}, .add_special_tokens = false});
    ASSERT_EQ(trace->tokens(), 1);
    EXPECT_FLOAT_EQ(pattern_rows(*trace, Layer(0), Head(0), 0, 1).item<float>(), 1.0F);
    EXPECT_EQ(trace->pooled(Layer(0), Head(0)).rows, 1);
}

TEST(Run, ATextTypedWithItsOwnBeginningWarns) {
    const auto trace = Novella::get().run("<s>The nurse was late.", {.globs = {"logits"}});
    ASSERT_EQ(trace->info().warnings.size(), 1U);
    EXPECT_THAT(trace->info().warnings[0], AllOf(HasSubstr("<s>"), HasSubstr("twice")));
}

TEST(Run, LongerThanTheModelWasMadeForGoesOnWithAWarning) {
    const auto trace = Novella::get().run(words(2100), {.globs = {"logits"}});
    ASSERT_EQ(trace->info().warnings.size(), 1U);
    EXPECT_THAT(trace->info().warnings[0], HasSubstr("on a model made for 2,048"));
}

TEST(Run, WhatDoesNotFitIsRefusedWithNumbersBeforeItStarts) {
    const Novella& n = Novella::get();
    std::string text;
    for (int i = 0; i < 3'000'000; ++i) text += " a";
    bool started = false;
    const auto message = error_of([&] {
        run(n.model, n.tokenizer, {.text = text}, {.globs = {"logits", "*hook_q"}}, {},
            [&](const ProgressStep&) { started = true; });
    });
    EXPECT_THAT(message, HasSubstr("Not enough memory"));
    EXPECT_THAT(message, HasSubstr("leave out: logits"));
    EXPECT_FALSE(started);
}

TEST(Run, StopsWithinALayerAndTellsTheLayers) {
    const CancelToken cancel;
    std::vector<std::int64_t> layers;
    const Progress progress = [&](const ProgressStep& step) {
        EXPECT_EQ(step.unit, "layer");
        EXPECT_EQ(step.total, 6);
        layers.push_back(step.done);
        if (step.done == 2) cancel.cancel();
    };
    const Novella& n = Novella::get();
    EXPECT_THROW(run(n.model, n.tokenizer, {.text = kSentence}, {}, cancel, progress), Cancelled);
    EXPECT_EQ(layers, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Run, RowsThatDoNotExistAreErrors) {
    const auto trace = Novella::get().run(kSentence);
    EXPECT_THAT(error_of([&] { pattern_rows(*trace, Layer(6), Head(0), 0, 1); }), HasSubstr("0 to 5"));
    EXPECT_THAT(error_of([&] { pattern_rows(*trace, Layer(0), Head(8), 0, 1); }), HasSubstr("0 to 7"));
    EXPECT_THAT(error_of([&] { score_rows(*trace, Layer(0), Head(0), 2, 1000); }), HasSubstr("1000 rows"));
    EXPECT_THAT(error_of([&] { pattern_column(*trace, Layer(0), Head(0), Position(-1)); }), HasSubstr("found -1"));
    EXPECT_THAT(error_of([&] { tensor(*trace, {Hook::z, Layer(6)}); }), HasSubstr("0 to 5"));
    EXPECT_THAT(error_of([&] { trace->pooled(Layer(0), Head(9)); }), HasSubstr("head 9"));
    EXPECT_THAT(error_of([&] { trace->head_numbers(Layer(0), Head(0)); }), HasSubstr("without numbers of its heads"));
}

}  // namespace run_test
}  // namespace headlight::trace
