// SPDX-License-Identifier: GPL-3.0-or-later
// The three traces of an encoder-decoder run: what the pass had is what each gives, by its own names.
#include "headlight/base/error.h"
#include "headlight/io/safetensors.h"
#include "headlight/trace/tensors.h"
#include "tests/support/case_name.h"
#include "tests/support/error_of.h"
#include "tests/trace/novella.h"
#include "tests/trace/text_fixtures.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace headlight::trace {
namespace encoder_decoder_test {

namespace fs = std::filesystem;
using model::Hook;
using model::HookPoint;
using model::Stack;
using testing::HasSubstr;
using namespace testing_support;

const Prompt kPrompt{.text = "the cat, the hat: the cat", .pair = "die Katze, die"};

class EncoderDecoderTrace : public testing::TestWithParam<fs::path> {
protected:
    const Opened opened{GetParam()};
};

TEST_P(EncoderDecoderTrace, SourceAndTargetAreTokenizedAsTheReferenceDoes) {
    const auto trace = run(opened.model, opened.tokenizer, kPrompt);
    const auto golden = io::TensorStore::open_file(fs::path(HEADLIGHT_SOURCE_DIR) / "tests/golden/encoder_decoders" /
                                                   (GetParam().filename().string() + ".f32.safetensors"));
    const auto ids = [&](const char* name) {
        const io::TensorView& view = *golden.find(name);
        const auto* data = reinterpret_cast<const std::int64_t*>(view.bytes.data());
        return std::vector<std::int64_t>(data, data + view.numel());
    };
    EXPECT_EQ(trace->encoding().ids, ids("ids"));
    EXPECT_EQ(trace->part(Stack::encoder)->encoding().ids, ids("source_ids"));
    EXPECT_EQ(trace->text_a(), kPrompt.text);
    EXPECT_EQ(trace->text_b(), kPrompt.pair);
    EXPECT_FALSE(trace->has_sentence_pair());
}

TEST_P(EncoderDecoderTrace, WhatThePassHadIsWhatTheThreeGive) {
    std::map<std::string, at::Tensor> seen;
    const Intervention look{"all", [&](HookPoint point, const at::Tensor& t) {
                                seen[name_of(point)] = t;
                                return t;
                            }};
    run_with_hooks(opened.model, opened.tokenizer, kPrompt, {}, {look});
    const auto trace = run(opened.model, opened.tokenizer, kPrompt, CapturePlan::everything());
    // The decoder's pass comes last, and so is what is seen under a name that both have.
    for (const HookPoint& point : model::hooks_of(trace->config())) {
        const at::Tensor later = tensor(*trace, point), &t = seen.at(name_of(point));
        const at::Tensor illegal = at::isinf(t), seen_there = t.masked_fill(illegal, 0);
        EXPECT_TRUE(at::equal(at::isinf(later), illegal)) << name_of(point);
        EXPECT_LE(largest_difference(seen_there, later.masked_fill(illegal, 0)), 2e-6 * seen_there.abs().max().item<double>())
            << name_of(point);
        EXPECT_EQ(later.sizes().vec(),
                  model::shape_of(point, trace->config(), trace->tokens(), trace->part(Stack::encoder)->tokens()));
    }
    const auto& cross = trace->part(Stack::cross);
    for (const HookPoint& own : model::hooks_of(cross->config())) {
        const HookPoint there{*model::in_decoder(own.hook), own.layer};
        EXPECT_TRUE(at::equal(tensor(*cross, own), tensor(*trace, there))) << name_of(there);
    }
}

TEST_P(EncoderDecoderTrace, PatternsOnDemandAreThoseOfTheRun) {
    const auto whole = run(opened.model, opened.tokenizer, kPrompt,
                           {.globs = {"*hook_pattern", "*hook_attn_scores", "*hook_q", "*hook_k", "*hook_v", "*hook_z"}});
    const auto usual = run(opened.model, opened.tokenizer, kPrompt);
    for (const Stack stack : {Stack::encoder, Stack::decoder, Stack::cross}) {
        const auto kept = part_of(whole, stack), made = part_of(usual, stack);
        for (std::int64_t l = 0; l < kept->config().n_layers; ++l) {
            const at::Tensor pattern = tensor(*kept, {Hook::pattern, Layer(l)});
            ASSERT_EQ(pattern.sizes().vec(), (std::vector<std::int64_t>{kept->config().n_heads, kept->tokens(), kept->keys()}));
            EXPECT_LE(largest_difference(tensor(*made, {Hook::pattern, Layer(l)}), pattern), 1e-6);
            EXPECT_LE((pattern.sum(-1) - 1).abs().max().item<double>(), 1e-5);
            for (std::int64_t h = 0; h < kept->config().n_heads; ++h) {
                EXPECT_LE(largest_difference(pattern_rows(*made, Layer(l), Head(h), 1, 2), pattern[h].narrow(0, 1, 2)), 1e-6);
                EXPECT_LE(largest_difference(pattern_column(*made, Layer(l), Head(h), Position(made->keys() - 1)),
                                             pattern[h].select(1, made->keys() - 1)),
                          1e-6);
            }
        }
    }
}

/// T5's bias by distance is the position's own term; the others have none in their scores.
TEST_P(EncoderDecoderTrace, ScoresAreContentPlusPosition) {
    const auto trace = run(opened.model, opened.tokenizer, kPrompt);
    for (const Stack stack : {Stack::encoder, Stack::decoder, Stack::cross}) {
        const auto part = part_of(trace, stack);
        const std::int64_t head = part->config().n_heads - 1;
        const at::Tensor q = tensor(*part, {Hook::q, Layer(1)}).select(1, head),
                         k = tensor(*part, {Hook::k, Layer(1)}).select(1, head);
        at::Tensor sum = at::matmul(q, k.t()) * part->config().score_scale;
        const at::Tensor position = position_rows(*part, Layer(1), Head(head), 0, part->tokens());
        EXPECT_EQ(position.defined(), part->config().positions == model::Positions::relative);
        if (position.defined()) sum = sum + position;
        const at::Tensor scores = score_rows(*part, Layer(1), Head(head), 0, part->tokens()), legal = at::isfinite(scores);
        EXPECT_LE(largest_difference(sum.masked_select(legal), scores.masked_select(legal)), 1e-5);
    }
}

TEST_P(EncoderDecoderTrace, OverviewOfTheCrossAttentionIsOfItsPatterns) {
    const auto trace = run(opened.model, opened.tokenizer, kPrompt);
    const auto cross = part_of(trace, Stack::cross);
    ASSERT_TRUE(cross->across_texts());
    ASSERT_TRUE(cross->overview().pooled);
    EXPECT_EQ(cross->key_encoding().ids, trace->part(Stack::encoder)->encoding().ids);
    EXPECT_EQ(cross->labels().size(), static_cast<std::size_t>(cross->tokens()));
    EXPECT_EQ(cross->key_labels().size(), static_cast<std::size_t>(cross->keys()));
    const std::int64_t layer = cross->config().n_layers - 1;
    for (std::int64_t h = 0; h < cross->config().n_heads; ++h) {
        const at::Tensor p = pattern_rows(*cross, Layer(layer), Head(h), 0, cross->tokens());
        const PooledPattern& pooled = cross->pooled(Layer(layer), Head(h));
        ASSERT_EQ(pooled.rows, cross->tokens());
        ASSERT_EQ(pooled.cols, cross->keys());
        const at::Tensor cells = p.contiguous();
        EXPECT_EQ(pooled.max, std::vector<float>(cells.data_ptr<float>(), cells.data_ptr<float>() + cells.numel()));
    }
}

TEST_P(EncoderDecoderTrace, WithoutATargetTheFirstTokenIsPredicted) {
    const auto trace = run(opened.model, opened.tokenizer, {.text = kPrompt.text});
    EXPECT_EQ(trace->encoding().ids, trace->config().start_ids);
    ASSERT_FALSE(trace->info().warnings.empty());
    EXPECT_THAT(trace->info().warnings.front(), HasSubstr("no target"));
    const at::Tensor logits = tensor(*trace, {Hook::logits, Layer(0)});
    EXPECT_EQ(logits.size(0), static_cast<std::int64_t>(trace->config().start_ids.size()));
    EXPECT_TRUE(at::isfinite(logits).all().item<bool>());
    EXPECT_EQ(tensor(*part_of(trace, Stack::cross), {Hook::pattern, Layer(0)}).size(2), trace->part(Stack::encoder)->tokens());
}

/// A change of the source reaches the logits through the cross attention alone.
TEST_P(EncoderDecoderTrace, AnInterventionInTheEncoderReachesTheLogits) {
    const auto plain = run(opened.model, opened.tokenizer, kPrompt);
    const Intervention change{"encoder.blocks.0.hook_attn_out", [](HookPoint, const at::Tensor& t) { return t * 1.5; }};
    const auto changed = run_with_hooks(opened.model, opened.tokenizer, kPrompt, {}, {change});
    EXPECT_GT(largest_difference(tensor(*plain, {Hook::logits, Layer(0)}), tensor(*changed, {Hook::logits, Layer(0)})), 1e-4);
    EXPECT_TRUE(at::equal(tensor(*plain, {Hook::q, Layer(0)}), tensor(*changed, {Hook::q, Layer(0)})));
    EXPECT_FALSE(at::equal(tensor(*plain, {Hook::cross_k, Layer(0)}), tensor(*changed, {Hook::cross_k, Layer(0)})));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, EncoderDecoderTrace, testing::ValuesIn(fixture_folders({"encoder_decoders"}, "config.json")),
                         [](const auto& each) { return test::case_name(each.param.filename()); });

TEST(EncoderDecoderPlan, GlobsAreOfEitherStack) {
    const Opened t5(fixtures() / "encoder_decoders/t5");
    const auto trace = run(t5.model, t5.tokenizer, kPrompt,
                           {.globs = {"encoder.*hook_q", "decoder.*cross_attn.hook_z"}, .overview = no_overview});
    EXPECT_TRUE(trace->part(Stack::encoder)->has({Hook::q, Layer(1)}));
    EXPECT_FALSE(trace->has({Hook::q, Layer(1)}));
    EXPECT_TRUE(trace->has({Hook::cross_z, Layer(1)}));
    EXPECT_TRUE(trace->part(Stack::cross)->has({Hook::z, Layer(1)}));
    EXPECT_THAT(test::error_of([&] { run(t5.model, t5.tokenizer, kPrompt, {.globs = {"blocks.0.attn.hook_q"}}); }),
                HasSubstr("decoder.blocks.*.attn.hook_q"));
    EXPECT_THROW(run(t5.model, t5.tokenizer, {.pair = "die Katze"}), Error);
    EXPECT_THROW(run(t5.model, t5.tokenizer, {.ids = {3, 4}}), Error);
    const Opened one(fixtures() / "models/gpt2");
    const auto plain = run(one.model, one.tokenizer, {.text = "the cat"});
    EXPECT_EQ(part_of(plain, Stack::whole), plain);
    EXPECT_THROW(part_of(plain, Stack::cross), Error);
}

}  // namespace encoder_decoder_test
}  // namespace headlight::trace
