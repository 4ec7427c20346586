// SPDX-License-Identifier: GPL-3.0-or-later
// Traces of models whose layers have implied maps in the place of patterns.
#include "headlight/base/error.h"
#include "headlight/trace/encoded.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/variants.h"
#include "headlight/trace/weights.h"
#include "tests/trace/text_fixtures.h"
#include "trace/pieces.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace headlight::trace {
namespace implied_test {

using model::Hook;
using model::HookPoint;
using testing::HasSubstr;
using namespace testing_support;

constexpr const char* kText = "the nurse asked the old nurse";

const Opened& mamba2() {
    static const Opened opened(fixtures() / "state_updates" / "mamba2");
    return opened;
}

std::shared_ptr<const Trace> run_mamba2(const CapturePlan& plan = {}) {
    return run(mamba2().model, mamba2().tokenizer, {.text = kText}, plan);
}

std::string failure(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

TEST(Implied, WhatIsComputedLaterEqualsWhatThePassHad) {
    std::map<HookPoint, at::Tensor> seen;
    const Intervention look{"all", [&](HookPoint point, const at::Tensor& t) {
                                seen[point] = t;
                                return t;
                            }};
    run_with_hooks(mamba2().model, mamba2().tokenizer, {.text = kText}, {}, {look});
    const auto trace = run_mamba2();
    EXPECT_EQ(seen.size(), model::hooks_of(trace->config()).size());
    for (const auto& [point, t] : seen) {
        if (point.hook == Hook::result)
            EXPECT_TRUE(at::allclose(t, tensor(*trace, point), 1e-5, 1e-6)) << name_of(point);
        else
            EXPECT_TRUE(at::equal(t, tensor(*trace, point))) << name_of(point);
    }
    EXPECT_EQ(find_stored(*trace, {Hook::implied, Layer(0)}), nullptr) << "maps grow with the square of the text";
}

TEST(Implied, RowsOfOneHeadAreThoseOfTheMap) {
    const auto trace = run_mamba2();
    const at::Tensor whole = tensor(*trace, {Hook::implied, Layer(1)});
    EXPECT_TRUE(at::equal(implied_rows(*trace, Layer(1), Head(2), 1, 4), whole[2].narrow(0, 1, 4)));
    EXPECT_TRUE(trace->has({Hook::implied, Layer(1)}));
}

TEST(Implied, NothingReadsAPatternThatTheLayerDoesNotHave) {
    const auto trace = run_mamba2();
    for (const auto& read : std::vector<std::function<void()>>{
             [&] { pattern_rows(*trace, Layer(0), Head(0), 0, 1); },
             [&] { pattern_column(*trace, Layer(0), Head(0), Position(0)); },
             [&] { score_rows(*trace, Layer(0), Head(0), 0, 1); },
             [&] { position_rows(*trace, Layer(0), Head(0), 0, 1); },
             [&] {
                 tensor(*trace, {Hook::pattern, Layer(0)});
             },
             [&] {
                 tensor(*trace, {Hook::attn_scores, Layer(0)});
             },
             [&] { for_pattern_rows(*trace, Layer(0), 0, 1, 1, [](std::int64_t, std::int64_t, const at::Tensor&) {}); },
             [&] { attention_weights(*trace->model(), Layer(0)); },
             [&] { trace->head_numbers(Layer(0), Head(0)); },
         })
        EXPECT_THAT(failure(read), HasSubstr("softmax attention"));
    EXPECT_THAT(failure([&] { mlp_weights(*trace->model(), Layer(0)); }), HasSubstr("no MLP"));
    EXPECT_THAT(failure([&] { Variants(mamba2().model, some_input(*mamba2().model), {}); }), HasSubstr("softmax attention"));
    EXPECT_FALSE(trace->overview().any());
    const Opened qwen3(fixtures() / "models" / "qwen3");
    const auto other = run(qwen3.model, qwen3.tokenizer, {.text = kText});
    EXPECT_THAT(failure([&] { implied_rows(*other, Layer(0), Head(0), 0, 1); }), HasSubstr("no implied map"));
}

}  // namespace implied_test
}  // namespace headlight::trace
