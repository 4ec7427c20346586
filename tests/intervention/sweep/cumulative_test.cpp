// SPDX-License-Identifier: GPL-3.0-or-later
// Several heads at once, against whole passes and single effects.
#include "headlight/intervention/sweep/cumulative.h"

#include "headlight/base/error.h"
#include "tests/intervention/sweep/whole_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::intervention {
namespace cumulative_test {

using testing_support::difference_of;
using testing_support::fixture;
using testing_support::some_pair;
using testing_support::tokens_of;

/// The logit difference of the clean text with these heads' outputs at 0, by a whole pass.
double without_heads(const model::Model& model, const SweepPair& pair, const std::vector<std::pair<int, int>>& heads) {
    std::vector<trace::Intervention> hooks;
    for (const auto& [layer, head] : heads)
        hooks.push_back(
            {"blocks." + std::to_string(layer) + ".attn.hook_z", [head = head](model::HookPoint, const at::Tensor& z) {
                 at::Tensor changed = z.clone();
                 changed.select(1, head).zero_();
                 return changed;
             }});
    return difference_of(trace::replay(model, tokens_of(pair.clean), hooks), pair);
}

TEST(Cumulative, AddsOneHeadAfterAnother) {
    const auto model = fixture("models/gpt2");
    const SweepPair pair = some_pair(*model);
    const CumulativeResult r = cumulative_heads(model, {pair}, {.ablation = Ablation::zero},
                                                {.steps = 3, .order = {"L1H1", "L0H1", "L1H0"}, .controls = 4});
    ASSERT_EQ(r.steps.size(), 4u);
    const double own = without_heads(*model, pair, {});
    EXPECT_NEAR(r.base, own, 1e-9);
    EXPECT_EQ(r.steps[0].effect.mean, 0);
    EXPECT_NEAR(r.steps[1].value, without_heads(*model, pair, {{1, 1}}), 1e-9);
    EXPECT_NEAR(r.steps[2].value, without_heads(*model, pair, {{1, 1}, {0, 1}}), 1e-9);
    EXPECT_NEAR(r.steps[3].value, without_heads(*model, pair, {{1, 1}, {0, 1}, {1, 0}}), 1e-9);
    EXPECT_NEAR(r.steps[3].effect.mean, r.steps[3].value - own, 1e-9);
}

TEST(Cumulative, OrdersHeadsByTheirOwnEffectAndEndsWithAllOfThem) {
    const auto model = fixture("models/gpt2");
    std::vector<SweepPair> pairs;
    for (std::int64_t shift = 0; shift < 5; ++shift) pairs.push_back(some_pair(*model, shift));
    const SweepResult singles = run_sweep(model, pairs, {});
    const CumulativeResult r = cumulative_heads(model, pairs, {}, {.steps = 1000, .order{}, .controls = 3});
    ASSERT_EQ(r.steps.size(), singles.cells.size() + 1);
    double last = HUGE_VAL;
    for (std::size_t step = 1; step < r.steps.size(); ++step) {
        EXPECT_EQ(r.steps[step].single, testing_support::result_at(singles, r.steps[step].added).effect);
        const double towards = r.steps[step].single / singles.gap();
        EXPECT_LE(towards, last) << "towards the other run first";
        last = towards;
    }
    EXPECT_NEAR(r.steps[1].effect.mean, r.steps[1].single, 1e-9);
    EXPECT_TRUE(std::isfinite(r.steps[1].effect.low));
    // Whatever the order, in the end every head is edited.
    EXPECT_NEAR(r.steps.back().control, r.steps.back().effect.mean, 1e-9);
    EXPECT_NEAR(r.steps.back().control_low, r.steps.back().control_high, 1e-9);
    EXPECT_GT(r.steps[2].control_high, r.steps[2].control_low);
    const CumulativeResult other = cumulative_heads(model, pairs, {}, {.steps = 3, .order{}, .controls = 3, .seed = 1});
    EXPECT_EQ(other.steps[2].effect.mean, r.steps[2].effect.mean);
    EXPECT_NE(other.steps[2].control, r.steps[2].control);
}

TEST(Cumulative, RefusesWhatHasNoOrderOfHeads) {
    const auto model = fixture("models/gpt2");
    const std::vector<SweepPair> pairs{some_pair(*model)};
    const auto refuses = [&](const SweepOptions& options, const CumulativeRequest& asked, const char* says) {
        try {
            cumulative_heads(model, pairs, options, asked);
            ADD_FAILURE() << says;
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr(says));
        }
    };
    refuses({.grid = Grid::mlp_out}, {.steps = 2, .order{}}, "mlp_out");
    refuses({.effect = Effect::direct}, {.steps = 2, .order{}}, "total effect");
    refuses({}, {.steps = 2, .order = {"L7H0"}}, "L7H0");
    refuses({}, {.steps = 2, .order = {"L0H0", "L0H0"}}, "twice");
}

}  // namespace cumulative_test
}  // namespace headlight::intervention
