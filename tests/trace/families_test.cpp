// SPDX-License-Identifier: GPL-3.0-or-later
// What must hold of a trace whatever the model: the tiny fixtures of every family, each with its own tokenizer.
#include "headlight/base/error.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/trace/tensors.h"
#include "tests/support/case_name.h"
#include "tests/trace/novella.h"
#include "tests/trace/text_fixtures.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace headlight::trace {
namespace families_test {

using model::Hook;
using model::HookPoint;
using testing::HasSubstr;
using namespace testing_support;

constexpr const char* kText = "the nurse asked the old nurse";

class Families : public testing::TestWithParam<std::filesystem::path> {
protected:
    const std::shared_ptr<const model::Model> model_ = model::Model::load(GetParam());
    const std::shared_ptr<const text::Tokenizer> tokenizer_ = text::Tokenizer::load(GetParam());
};

/// Every tensor of a pass against the same computed later.
void expect_same_later(const std::shared_ptr<const model::Model>& model,
                       const std::shared_ptr<const text::Tokenizer>& tokenizer) {
    std::map<HookPoint, at::Tensor> seen;
    const Intervention look{"all", [&](HookPoint point, const at::Tensor& t) {
                                seen[point] = t;
                                return t;
                            }};
    run_with_hooks(model, tokenizer, {.text = kText}, {}, {look});
    const auto trace = run(model, tokenizer, {.text = kText}, CapturePlan::everything());
    EXPECT_EQ(seen.size(), model::hooks_of(trace->config()).size());
    for (const auto& [point, t] : seen) {
        const at::Tensor later = tensor(*trace, point);
        if (point.hook == Hook::result) {
            EXPECT_LE(largest_difference(t, later), 2e-6 * t.abs().max().item<double>()) << name_of(point);
        } else {
            EXPECT_TRUE(at::equal(t, later)) << name_of(point);
        }
    }
}

TEST_P(Families, WhatThePassHadIsWhatTheTraceGives) { expect_same_later(model_, tokenizer_); }

TEST_P(Families, WhatAPassWithProductsInBfloat16HadIsWhatTheTraceGives) {
    if (!model::computes_bfloat16_products()) GTEST_SKIP() << "this processor has no units for products of bfloat16";
    expect_same_later(model::Model::load(GetParam(), {.dtype = model::ComputeType::float32_bf16, .device = "cpu"}), tokenizer_);
}

TEST_P(Families, ScoresAreContentPlusPosition) {
    const auto trace = run(model_, tokenizer_, {.text = kText});
    const model::ModelConfig& c = trace->config();
    const std::int64_t n = trace->tokens(), head = c.n_heads - 1, kv = head / (c.n_heads / c.n_kv_heads);
    const at::Tensor q = before_rotation(*trace, Layer(1), Hook::q).select(1, head),
                     k = before_rotation(*trace, Layer(1), Hook::k).select(1, kv);
    if (c.qk_norm == model::QkNorm::none) {
        EXPECT_TRUE(at::equal(q, tensor(*trace, {Hook::q, Layer(1)}).select(1, head)));
    }
    const at::Tensor content = at::matmul(q, k.t()) * model::score_scale_of(c, 1);
    const at::Tensor position = position_rows(*trace, Layer(1), Head(head), 0, n);
    const bool has_term = c.positions == model::Positions::alibi || c.positions == model::Positions::rotary ||
                          c.disentangled.any() || has_relative_bias(c);
    ASSERT_EQ(position.defined(), has_term);
    at::Tensor sum = has_term ? content + position : content;
    if (c.score_softcap > 0) sum = (sum / c.score_softcap).tanh() * c.score_softcap;
    const at::Tensor scores = score_rows(*trace, Layer(1), Head(head), 0, n);
    const at::Tensor legal = at::isfinite(scores);
    EXPECT_LE(largest_difference(sum.masked_select(legal), scores.masked_select(legal)), 1e-5);
    std::int64_t pairs = 0;
    for (std::int64_t i = 0; i < n; ++i) pairs += model::legal_keys(i, n, c.causal, model::window_of(c, 1)).count();
    EXPECT_EQ(legal.sum().item<std::int64_t>(), pairs);
}

/// Largest error of the attention's output, as a share of its spread.
double relative_error(const Trace& found, const Trace& expected) {
    double worst = 0;
    for (std::int64_t layer = 0; layer < expected.config().n_layers; ++layer) {
        const at::Tensor z = tensor(expected, {Hook::z, Layer(layer)}).to(at::kDouble);
        const at::Tensor error = tensor(found, {Hook::z, Layer(layer)}).to(at::kDouble) - z;
        worst = std::max(worst, error.square().mean().sqrt().item<double>() / z.std().item<double>());
    }
    return worst;
}

/// bfloat16 keeps 8 bits of each number.
TEST_P(Families, OtherComputeTypes) {
    const auto single = run(model_, tokenizer_, {.text = kText});
    for (const auto dtype : {model::ComputeType::float64, model::ComputeType::bfloat16}) {
        const auto trace =
            run(model::Model::load(GetParam(), {.dtype = dtype}), tokenizer_, {.text = kText}, CapturePlan::everything());
        const bool wide = dtype == model::ComputeType::float64;
        const double error = relative_error(*trace, *single);
        EXPECT_LE(error, wide ? 1e-5 : 0.05);
        EXPECT_GE(error, wide ? 0 : 1e-4) << "computed in another type";
        const at::Tensor pattern = tensor(*trace, {Hook::pattern, Layer(0)});
        EXPECT_EQ(tensor(*trace, {Hook::z, Layer(0)}).scalar_type(), wide ? at::kDouble : at::kBFloat16);
        EXPECT_EQ(pattern.scalar_type(), wide ? at::kDouble : at::kBFloat16);
        EXPECT_EQ(tensor(*trace, {Hook::mlp_post, Layer(0)}).scalar_type(), pattern.scalar_type());
        const PooledPattern &found = trace->pooled(Layer(0), Head(0)), &expected = single->pooled(Layer(0), Head(0));
        EXPECT_THAT(found.mean, testing::Pointwise(testing::FloatNear(wide ? 1e-5F : 0.03F), expected.mean));
    }
}

INSTANTIATE_TEST_SUITE_P(EveryFixture, Families, testing::ValuesIn(fixture_folders({"models"}, "tokenizer.json")),
                         [](const auto& each) { return test::case_name(each.param.filename()); });

TEST(Lengths, MoreThanTheModelTakesNamesBothNumbers) {
    const Opened bert(fixtures() / "models/bert");
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += "nurse ";
    try {
        run(bert.model, bert.tokenizer, {.text = text});
        FAIL() << "ran";
    } catch (const Error& error) {
        EXPECT_THAT(error.facts().expected, HasSubstr("40 tokens"));
        EXPECT_THAT(error.facts().found, testing::MatchesRegex("[0-9]+,[0-9]{3} tokens"));
    }
}

TEST(Pairs, GetTheirTypesAndLandInTheTrace) {
    const Opened bert(fixtures() / "models/bert");
    const auto trace = run(bert.model, bert.tokenizer, {.text = "the nurse", .pair = "the nurse"});
    EXPECT_EQ(trace->text_b(), "the nurse");
    const std::int64_t second = trace->encoding().pair_start();
    const at::Tensor types = tensor(*trace, {Hook::token_type_embed, Layer(0)});
    EXPECT_GT(largest_difference(types[second], types[0]), 1e-3);
}

}  // namespace families_test
}  // namespace headlight::trace
