// SPDX-License-Identifier: GPL-3.0-or-later
// A model on a GPU: its traces, weights, edits and gradients are those of the CPU, and lie there.
#include "headlight/model/runtime.h"
#include "headlight/trace/capture.h"
#include "headlight/trace/weights.h"
#include "model/arithmetic/device.h"
#include "tests/trace/text_fixtures.h"

#include <gtest/gtest.h>

namespace headlight::trace {
namespace gpu_test {

using namespace testing_support;
using model::Hook;
using model::HookPoint;

void expect_near(const at::Tensor& found, const at::Tensor& expected, const std::string& what) {
    SCOPED_TRACE(what);
    ASSERT_TRUE(found.is_cpu());
    ASSERT_EQ(found.sizes(), expected.sizes());
    const at::Tensor legal = at::isfinite(expected);
    ASSERT_TRUE(at::equal(at::isfinite(found), legal));
    const at::Tensor a = found.masked_select(legal).to(at::kDouble), b = expected.masked_select(legal).to(at::kDouble);
    if (b.numel() == 0) return;
    EXPECT_LE((a - b).abs().max().item<double>(), 1e-9 * std::max(1.0, b.abs().max().item<double>()));
}

TEST(Gpu, WhatStandsOnAPassIsThatOfTheCpu) {
    if (!model::runtime_facts().cuda) GTEST_SKIP() << "there is no GPU, or LibTorch is one without CUDA";
    constexpr auto type = model::ComputeType::float64;
    const Prompt prompt{.text = "The cat sat on the mat, and the cat slept."};
    const auto doubled = [](HookPoint, const at::Tensor& t) { return t * 2; };
    for (const std::string& name : text_fixtures()) {
        SCOPED_TRACE(name);
        const Opened on_cpu(fixtures() / name, type);
        Opened on_gpu = on_cpu;
        on_gpu.model = model::Model::load(fixtures() / name, {.dtype = type, .device = "cuda"});
        const auto both = [&](const auto& what) { return std::pair(what(on_gpu), what(on_cpu)); };

        for (const std::vector<Intervention>& edits : {std::vector<Intervention>{}, {{"*.hook_mlp_out", doubled}}}) {
            const auto [ours, theirs] = both([&](const Opened& of) {
                return run_with_hooks(of.model, of.tokenizer, prompt, CapturePlan::everything(), edits);
            });
            for (const HookPoint& point : model::hooks_of(theirs->config()))
                expect_near(tensor(*ours, point), tensor(*theirs, point), name_of(point));
        }
        const auto [scores, expected_scores] = both([&](const Opened& of) {
            const auto trace = run(of.model, of.tokenizer, prompt);
            return score_rows(*trace, Layer(1), Head(1), 0, trace->tokens());
        });
        expect_near(scores, expected_scores, "scores on demand");

        const auto [weights, expected_weights] = both([](const Opened& of) { return attention_weights(*of.model, Layer(0)); });
        expect_near(weights.w_q, expected_weights.w_q, "w_q");
        expect_near(weights.w_o, expected_weights.w_o, "w_o");
        if (!on_cpu.model->config().has_unembedding) continue;

        const TokenIds tokens = some_input(*on_cpu.model);
        const std::int64_t last = std::ssize(tokens.ids) - 1;
        Variant variant;
        variant.edits.push_back(
            {{Hook::mlp_out, Layer(0)}, last, [](HookPoint, const at::Tensor& rows, std::int64_t) { return rows * 2; }});
        const auto [logits, expected_logits] = both([&](const Opened& of) {
            at::Tensor kept;
            replay_variants(*of.model, tokens, last, {variant},
                            [&](std::int64_t, const at::Tensor&, const at::Tensor& found) { kept = found; });
            return kept;
        });
        expect_near(logits, expected_logits, "variant");
        const HookPoint point{Hook::resid_mid, Layer(1)};
        const auto [gradient, expected_gradient] = both([&](const Opened& of) {
            return gradients(*of.model, tokens, {point}, [](const at::Tensor& rows) { return rows[-1].log_softmax(0)[3]; })
                .gradients.at(point);
        });
        expect_near(gradient, expected_gradient, "gradients");
    }
}

TEST(Gpu, MemoryOfTensorsThatAreGoneIsFree) {
    if (!model::runtime_facts().cuda) GTEST_SKIP() << "there is no GPU, or LibTorch is one without CUDA";
    const at::Device gpu(at::kCUDA, 0);
    constexpr std::int64_t kBytes = std::int64_t{1} << 30;
    const std::int64_t before = model::free_memory(gpu);
    {
        const at::Tensor taken = at::empty({kBytes}, at::TensorOptions(at::kByte).device(gpu));
        EXPECT_LT(model::free_memory(gpu), before - kBytes / 2);
    }
    EXPECT_GT(model::free_memory(gpu), before - kBytes / 2);
}

}  // namespace gpu_test
}  // namespace headlight::trace
