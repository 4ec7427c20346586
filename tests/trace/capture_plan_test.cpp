// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/runtime.h"
#include "headlight/trace/capture.h"
#include "tests/support/error_of.h"
#include "tests/support/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace headlight::trace {
namespace capture_plan_test {

using model::Hook;
using testing::HasSubstr;

model::ModelConfig gpt2_small() {
    model::ModelConfig c;
    c.n_layers = 12;
    c.d_model = 768;
    c.n_heads = c.n_kv_heads = 12;
    c.d_head = 64;
    c.d_mlp = 3072;
    c.vocab_size = 50257;
    c.context_length = 1024;
    return c;
}

std::vector<std::string> names(const CapturePlan& plan, const model::ModelConfig& c) {
    std::vector<std::string> result;
    for (const auto& point : plan.resolve(c)) result.push_back(name_of(point));
    return result;
}

std::string message_of(const std::string& glob) {
    return test::error_of([&] { CapturePlan{.globs = {glob}}.resolve(gpt2_small()); });
}

TEST(CapturePlan, GlobsChooseHooksInTheOrderOfThePass) {
    EXPECT_THAT(names({.globs = {"blocks.1?.hook_resid_pre", "blocks.3.attn.hook_z", "logits"}}, gpt2_small()),
                testing::ElementsAre("blocks.3.attn.hook_z", "blocks.10.hook_resid_pre", "blocks.11.hook_resid_pre", "logits"));
}

TEST(CapturePlan, EverythingIsEveryHookOfTheModel) {
    EXPECT_EQ(CapturePlan::everything().resolve(gpt2_small()), model::hooks_of(gpt2_small()));
    const auto standard = names(CapturePlan(), gpt2_small());
    for (const char* name : {"blocks.0.attn.hook_q", "blocks.11.attn.hook_z", "blocks.5.mlp.hook_post",
                             "blocks.11.hook_resid_post", "blocks.0.ln1.hook_scale", "logits"}) {
        EXPECT_THAT(standard, testing::Contains(name));
    }
    EXPECT_THAT(standard, testing::Not(testing::Contains("blocks.0.attn.hook_rot_q")));  // learned positions
}

TEST(CapturePlan, AGlobWithoutAMatchSaysWhatWasMeant) {
    EXPECT_THAT(message_of("blocks.3.attn.hook_patern"), HasSubstr("blocks.*.attn.hook_pattern"));
    EXPECT_THAT(message_of("hook_z"), HasSubstr("blocks.*.attn.hook_z"));
    EXPECT_THAT(message_of("logit"), HasSubstr("logits"));
    EXPECT_THAT(message_of("blocks.12.attn.hook_z"), HasSubstr("0 to 11"));
    EXPECT_THAT(message_of(""), HasSubstr("No hook"));
    EXPECT_THAT(message_of(std::string(100000, '*').append("x")), HasSubstr("No hook"));
}

TEST(Forecast, GrowsWithTheTextNotWithItsSquare) {
    const auto kept = [](std::int64_t tokens) {
        return static_cast<double>(forecast(gpt2_small(), tokens, CapturePlan::everything()).kept);
    };
    EXPECT_LE(kept(512), 400e6);
    EXPECT_NEAR((kept(1024) - kept(512)) / (kept(512) - kept(256)), 2.0, 1e-9);
}

TEST(Forecast, NamesTheLargestPartsFirst) {
    const Forecast f = forecast(gpt2_small(), 512, {});
    ASSERT_FALSE(f.parts.empty());
    EXPECT_EQ(f.parts[0].first, "logits");
    EXPECT_EQ(f.parts[0].second, 512LL * 50257 * 4);
    EXPECT_EQ(f.parts[1].first, "mlp.hook_pre");
    EXPECT_EQ(f.parts[1].second, 12LL * 512 * 3072 * 4);
    EXPECT_TRUE(std::is_sorted(f.parts.begin(), f.parts.end(), [](auto& a, auto& b) { return a.second > b.second; }));
    EXPECT_GT(f.working, 0);
    EXPECT_GT(f.available, 0);
}

TEST(Forecast, AHugeTextDoesNotFitAndDoesNotOverflow) {
    const Forecast f = forecast(gpt2_small(), std::int64_t{1} << 40, CapturePlan::everything());
    EXPECT_FALSE(f.fits());
    EXPECT_THAT(f.text(), HasSubstr("leave out: hook_resid_pre"));
}

TEST(Forecast, WhatEarlierRunsFreedIsGivenBackBeforeARunIsRefused) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer's allocator keeps what is freed";
#endif
    model::start_runtime(1);  // from here on freed memory stays in the heap
    constexpr std::int64_t kBlock = 1 << 20, kBlocks = 200;
    {
        std::vector<std::vector<char>> blocks;
        for (std::int64_t i = 0; i < kBlocks; ++i) blocks.emplace_back(kBlock, 'x');
    }
    const std::int64_t before = test::resident_bytes();
    EXPECT_TRUE(forecast(gpt2_small(), 1, {}).fits());
    EXPECT_GT(test::resident_bytes(), before - kBlock);  // a run that fits keeps the heap as it is
    EXPECT_FALSE(forecast(gpt2_small(), std::int64_t{1} << 40, {}).fits());
    EXPECT_LT(test::resident_bytes(), before - (kBlocks - 10) * kBlock);
}

}  // namespace capture_plan_test
}  // namespace headlight::trace
