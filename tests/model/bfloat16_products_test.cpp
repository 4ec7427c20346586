// SPDX-License-Identifier: GPL-3.0-or-later
// float32 passes whose products are the processor's of bfloat16: the product alone, and what becomes of a pass.
#include "model/arithmetic/bfloat16_products.h"

#include "headlight/base/error.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/one_thread.h"
#include "tests/model/run_all.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace headlight::model {
namespace bfloat16_products_test {

at::Tensor rounded(const at::Tensor& t) { return t.to(at::kBFloat16).to(at::kDouble); }

double off(const at::Tensor& found, const at::Tensor& expected) {
    return ((found.to(at::kDouble) - expected).square().sum() / expected.square().sum()).sqrt().item<double>();
}

struct Size {
    std::int64_t m, k, n;
};

class Bfloat16Products : public testing::Test {
protected:
    void SetUp() override {
        if (!computes_bfloat16_products()) GTEST_SKIP() << "this processor has no units for products of bfloat16";
        at::manual_seed(7);
    }
};

TEST_F(Bfloat16Products, AreThoseOfRoundedNumbers) {
    for (const auto& [m, k, n] : {Size{1, 64, 64}, {3, 33, 70}, {130, 96, 513}, {2100, 17, 5}, {300, 576, 1536}}) {
        const at::Tensor a = at::randn({m, k}), b = at::randn({k, n}), kept = b.t().contiguous().t();
        const at::Tensor found = bfloat16_products::product(a, b);
        EXPECT_LT(off(found, at::mm(rounded(a), rounded(b))), 1e-6) << m << " " << k << " " << n;
        EXPECT_TRUE(at::equal(bfloat16_products::product(a, kept), found)) << "whichever way the weights lie";
        EXPECT_TRUE(at::equal(bfloat16_products::product(a.t().contiguous().t(), b), found));
    }
}

TEST_F(Bfloat16Products, OfARowAreTheSameAmongOtherRowsAndOnOneThread) {
    const at::Tensor a = at::randn({200, 192}), b = at::randn({192, 600});
    const at::Tensor all = bfloat16_products::product(a, b);
    for (const std::int64_t first : {0, 1, 77, 199})
        EXPECT_TRUE(at::equal(bfloat16_products::product(a.narrow(0, first, 1), b), all.narrow(0, first, 1))) << first;
    const OneThread alone;
    EXPECT_TRUE(at::equal(bfloat16_products::product(a, b), all));
}

TEST_F(Bfloat16Products, KeepWhatIsNoNumber) {
    at::Tensor a = at::randn({4, 64});
    a[2][5] = std::numeric_limits<float>::quiet_NaN();
    const at::Tensor found = bfloat16_products::product(a, at::randn({64, 8})).isnan().any(1);
    for (std::int64_t row = 0; row < 4; ++row) EXPECT_EQ(found[row].item<bool>(), row == 2);
}

std::shared_ptr<const Model> with_products(const std::string& name) {
    return Model::load(fixture(name), {.dtype = ComputeType::float32_bf16, .device = "cpu"});
}

TEST_F(Bfloat16Products, ComputeThePassOfEveryFamily) {
    const std::string hook = "blocks.0.hook_resid_post";
    for (const std::string& name : fixture_names()) {
        const auto exact = Model::load(fixture(name), {.device = "cpu"}), model = with_products(name);
        const ForwardInput input = some_text(exact->config(), 12);
        const at::Tensor expected = run_all(*exact, input).tensors.at(hook).to(at::kDouble);
        const Collector seen = run_all(*model, input);
        EXPECT_EQ(seen.tensors.at(hook).scalar_type(), at::kFloat);
        const double found = off(seen.tensors.at(hook), expected);
        EXPECT_GE(found, 1e-6) << name;
        EXPECT_LE(found, exact->config().experts.count > 0 ? 0.2 : 0.03) << name << ": near a tie another expert may be chosen";
        // What is computed later equals what the pass had.
        const AttentionInput& in = seen.inputs.at(0);
        const at::Tensor pattern = seen.tensors.at("blocks.0.attn.hook_pattern");
        EXPECT_TRUE(at::equal(pattern_tile(in, 0, in.q.size(0), 1, 3), pattern.narrow(1, 1, 3))) << name;
        ForwardInput as_float = input;
        as_float.exact = true;
        EXPECT_TRUE(at::equal(run_all(*model, as_float).tensors.at(hook).to(at::kDouble), expected)) << name;
    }
}

TEST_F(Bfloat16Products, OfALongTextAreThoseOfItsPatterns) {
    const auto model = with_products("llama-kv2");
    const Collector seen = run_all(*model, some_text(model->config(), 1100));  // two blocks of keys and a part of one
    const AttentionInput& in = seen.inputs.at(0);
    const auto of_heads = [&](const at::Tensor& kv) { return rounded(kv.repeat_interleave(in.q.size(0) / in.k.size(0), 0)); };
    const at::Tensor pattern = seen.tensors.at("blocks.0.attn.hook_pattern");
    const at::Tensor v = of_heads(seen.tensors.at("blocks.0.attn.hook_v").transpose(0, 1));
    EXPECT_LT(off(seen.tensors.at("blocks.0.attn.hook_z"), at::matmul(rounded(pattern), v).transpose(0, 1)), 1e-6);
    const at::Tensor scores = at::matmul(rounded(in.q), of_heads(in.k).transpose(1, 2)) * in.scale;
    const at::Tensor illegal = at::ones({1100, 1100}, at::kBool).tril().logical_not();
    EXPECT_LT(off(pattern, at::softmax(scores.masked_fill(illegal, -1e30), -1)), 1e-5);
}

TEST(ComputeTypes, OfProductsInBfloat16AreTheCpusAlone) {
    try {
        Model::load(fixture("gpt2"), {.dtype = ComputeType::float32_bf16, .device = "cuda"});
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("float32-bf16"));
    }
}

}  // namespace bfloat16_products_test
}  // namespace headlight::model
