// SPDX-License-Identifier: GPL-3.0-or-later
// What a run with products in bfloat16 says of its error, against the two whole runs.
#include "trace/precision.h"

#include "headlight/model/blas_kernels.h"
#include "headlight/trace/tensors.h"
#include "tests/support/case_name.h"
#include "tests/trace/novella.h"
#include "tests/trace/text_fixtures.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace headlight::trace {
namespace precision_test {

using model::Hook;
using namespace testing_support;

class Precision : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        if (!model::computes_bfloat16_products()) GTEST_SKIP() << "this processor has no units for products of bfloat16";
    }
};

/// Of decoders, one with capped logits, of encoders with a head and without.
TEST_P(Precision, IsTheDifferenceOfTheTwoRuns) {
    const std::filesystem::path folder = fixtures() / GetParam();
    const std::shared_ptr<const text::Tokenizer> tokenizer = text::Tokenizer::load(folder);
    const auto run_as = [&](model::ComputeType type) {
        return run(model::Model::load(folder, {.dtype = type, .device = "cpu"}), tokenizer,
                   {.text = "the nurse asked the old nurse"}, CapturePlan::everything());
    };
    const auto exact = run_as(model::ComputeType::float32), found = run_as(model::ComputeType::float32_bf16);
    EXPECT_EQ(found->info().dtype, "float32-bf16");
    const std::int64_t layers = exact->config().n_layers;
    const auto wide = [](const Trace& t, Hook hook, std::int64_t layer) {
        return tensor(t, {hook, Layer(layer)}).to(at::kDouble);
    };
    const auto off = [&](Hook hook, std::int64_t layer) { return (wide(*found, hook, layer) - wide(*exact, hook, layer)).abs(); };
    const std::string note = found->info().warnings.back();
    SCOPED_TRACE(note);
    ProductsError expected;
    expected.tokens = exact->tokens();
    const double size = wide(*exact, Hook::resid_post, layers - 1).square().sum().item<double>();
    expected.stream = std::sqrt(off(Hook::resid_post, layers - 1).square().sum().item<double>() / size);
    for (std::int64_t l = 0; l < layers; ++l)
        expected.weight = std::max(expected.weight, off(Hook::pattern, l).max().item<double>());
    if (exact->config().has_unembedding)
        expected.same_token = wide(*exact, Hook::logits, 0)
                                  .argmax(-1)
                                  .eq(wide(*found, Hook::logits, 0).argmax(-1))
                                  .to(at::kDouble)
                                  .mean()
                                  .item<double>();
    EXPECT_GT(expected.stream, 1e-6);
    EXPECT_GT(expected.weight, 0);
    EXPECT_EQ(note, expected.text());
}

INSTANTIATE_TEST_SUITE_P(Models, Precision,
                         testing::Values("models/gpt2", "models/gemma2", "models/bert", "models/bert-mlm", "models/clip"),
                         [](const auto& each) { return test::case_name(std::filesystem::path(each.param).filename()); });

}  // namespace precision_test
}  // namespace headlight::trace
