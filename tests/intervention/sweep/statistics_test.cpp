// SPDX-License-Identifier: GPL-3.0-or-later
// Standard errors and intervals of sweeps: pairs of a group are not independent.
#include "intervention/sweep/statistics.h"

#include "tests/intervention/sweep/whole_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::intervention {
namespace statistics_test {

using testing::Contains;
using testing::HasSubstr;

TEST(StandardError, IsClusteredByGroup) {
    const std::vector<double> values = {1, 2, kNaN, 3, 7};
    EXPECT_NEAR(standard_error(values, {0, 1, 2, 3, 4}), std::sqrt(20.75 / 3 / 4), 1e-15) << "all by themselves";
    // Sums of deviations from 3.25: -3.5 and 3.5.
    EXPECT_NEAR(standard_error(values, {0, 0, 0, 1, 1}), std::sqrt(2.0 / 1 * 24.5) / 4, 1e-15);
    EXPECT_TRUE(std::isnan(standard_error(values, {0, 0, 1, 0, 0}))) << "one group with values";
}

TEST(StandardError, OfRepeatedPairsIsThatOfOneOfEach) {
    // Five texts, each four times: as a group of four they say no more than one of them.
    const auto model = testing_support::fixture("models/gpt2");
    const std::int64_t vocab = model->config().vocab_size;
    std::vector<SweepPair> once, repeated;
    for (std::int64_t n = 0; n < 5; ++n) {
        SweepPair pair = testing_support::some_pair(*model);
        for (SweepText* text : {&pair.clean, &pair.corrupt}) text->ids[1] = (5 + 31 * n) % vocab;
        once.push_back(pair);
        pair.group = "text " + std::to_string(n);
        repeated.insert(repeated.end(), 4, pair);
    }
    const SweepResult few = run_sweep(model, once, {}), many = run_sweep(model, repeated, {});
    for (std::size_t i = 0; i < few.cells.size(); ++i) {
        EXPECT_NEAR(many.results[i].stderr_, few.results[i].stderr_, 1e-12);
        EXPECT_NEAR(many.results[i].low, few.results[i].low, 1e-12);
        EXPECT_NEAR(many.results[i].band_high, few.results[i].band_high, 1e-12);
    }
    EXPECT_GT(few.results[1].stderr_, 0);
    EXPECT_GT(few.results[1].high, few.results[1].low);
}

/// Texts of which a word's place is alone in five: six pairs, and four that have nothing at the place.
TEST(Intervals, OfACellNeedValuesOfFiveGroups) {
    SweepResult r;
    r.options = {.bootstrap = {.draws = 200}};
    r.cells.resize(2);
    r.results.resize(2);
    r.complete = true;
    std::vector<SweepPair> pairs(6);
    for (int n = 0; n < 6; ++n) {
        r.effects.push_back({0.5 * n, n < 4 ? 100.0 * n : kNaN});
        r.clean.push_back(1);
    }
    SweepResult alone = r;
    summarise(r, pairs);
    EXPECT_EQ(r.results[1].pairs, 4);
    EXPECT_GT(r.results[1].stderr_, 0);
    for (const double bound : {r.results[1].low, r.results[1].high, r.results[1].band_low, r.results[1].band_high})
        EXPECT_TRUE(std::isnan(bound));
    alone.cells.resize(1);
    alone.results.resize(1);
    summarise(alone, pairs);
    EXPECT_EQ(r.results[0].band_low, alone.results[0].band_low) << "the band is that of the other cells";
}

TEST(Normalized, OfNoEffectIsZeroWithoutASign) {
    SweepResult r;
    r.cells.resize(1);
    r.results.resize(1);
    r.effects = {{0.0}};
    r.clean = {1};
    r.corrupt = {2};
    summarise(r, std::vector<SweepPair>(1));
    EXPECT_EQ(r.results[0].normalized, 0);
    EXPECT_FALSE(std::signbit(r.results[0].normalized));
}

/// Draws of one text's noise share the text.
TEST(StandardError, OfNoiseCountsTexts) {
    const auto model = testing_support::fixture("models/gpt2");
    std::vector<SweepPair> pairs;
    for (std::int64_t n = 0; n < 3; ++n) {
        SweepPair& pair = pairs.emplace_back(testing_support::some_pair(*model, n));
        pair.clean.places["subject"] = {1, 2};
    }
    const SweepResult r = run_sweep(model, pairs, {.grid = Grid::resid_pre, .noise = "subject", .noise_draws = 5});
    std::vector<std::int64_t> texts;
    for (std::int64_t n = 0; n < 15; ++n) texts.push_back(n / 5);
    for (std::size_t i = 0; i < r.cells.size(); ++i) {
        std::vector<double> effects;
        for (const auto& of : r.effects) effects.push_back(of[i]);
        EXPECT_NEAR(r.results[i].stderr_, standard_error(effects, texts), 1e-15);
    }
}

/// The note about the gap between the runs counts groups as the standard error does.
TEST(StandardError, OfTheGapIsClusteredToo) {
    const auto model = testing_support::fixture("models/gpt2");
    SweepPair a = testing_support::some_pair(*model), b = a;
    b.clean = a.corrupt;
    b.corrupt = a.clean;
    a.group = "a", b.group = "b";
    std::vector<SweepPair> pairs(12, a);
    pairs.push_back(b);
    const auto gap_note = Contains(HasSubstr("less than 3 of its standard errors"));
    EXPECT_THAT(run_sweep(model, pairs, {.grid = Grid::attn_out, .layers = {0}}).notes, gap_note);
    for (SweepPair& pair : pairs) pair.group.clear();
    EXPECT_THAT(run_sweep(model, pairs, {.grid = Grid::attn_out, .layers = {0}}).notes, testing::Not(gap_note));
}

}  // namespace statistics_test
}  // namespace headlight::intervention
