// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/statistics/least_texts.h"

#include "tests/corpus/fixtures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace headlight::corpus {
namespace {

TEST(Bootstrap, OfTwoTextsHasTheFourDrawsOfAnEnumeration) {
    // Hits 1 of 1 and 0 of 3. Drawn: both first 1/1, both second 0/6, one of each (two of four ways) 1/4.
    Bootstrap::Columns sums(2, 1), weights(2, 1);
    sums << 1, 0;
    weights << 1, 3;
    const std::int64_t draws = 20'000;
    const Bootstrap bootstrap(2, {.draws = draws});
    std::map<double, int> seen;
    const Bootstrap::Columns drawn = bootstrap.drawn_means(sums, weights);
    for (const double x : drawn.col(0)) ++seen[x];
    ASSERT_EQ(seen.size(), 3u);
    const double sd = std::sqrt(static_cast<double>(draws) * 0.25);
    EXPECT_NEAR(seen[1.0], draws / 4, 5 * sd);
    EXPECT_NEAR(seen[0.25], draws / 2, 5 * sd);
    EXPECT_NEAR(seen[0.0], draws / 4, 5 * sd);
}

TEST(Bootstrap, IntervalsAreQuantilesOfTheDraws) {
    // Five texts, one of them 1 and the others 0: the mean of a draw is how often it has that text / 5, binomial.
    const std::vector<TextTerm> terms{{1, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}};
    const Interval wide = Bootstrap(5, {.draws = 20'000}).mean(terms);
    EXPECT_EQ(wide.mean, 0.2);
    EXPECT_EQ(wide.low, 0);        // in 0.33 of the draws
    EXPECT_EQ(wide.high, 3 / 5.);  // at most so often in 0.993 of them, at most twice in 0.942
    const Interval narrow = Bootstrap(5, {.draws = 20'000, .level = 0.3}).mean(terms);
    EXPECT_EQ(narrow.low, 0.2);
    EXPECT_EQ(narrow.high, 0.2);
}

TEST(Bootstrap, IntervalsHoldTheTruthIn95Of100Corpora) {
    // 150 texts of 5 to 40 tokens; a text's rate is its own, around 0.3. The truth is the ratio of the expectations.
    std::mt19937_64 random(11);
    const int corpora = 1500;
    int held = 0, held_difference = 0;
    for (int c = 0; c < corpora; ++c) {
        std::vector<TextTerm> a, b;
        for (int i = 0; i < 150; ++i) {
            const int tokens = std::uniform_int_distribution<int>(5, 40)(random);
            const double rate = std::uniform_real_distribution<double>(0.1, 0.5)(random);
            a.push_back({static_cast<double>(std::binomial_distribution<int>(tokens, rate)(random)), double(tokens)});
            b.push_back({static_cast<double>(std::binomial_distribution<int>(tokens, rate - 0.1)(random)), double(tokens)});
        }
        const Bootstrap bootstrap(150, {.draws = 500, .seed = static_cast<std::uint64_t>(c)});
        const Interval mean = bootstrap.mean(a), difference = bootstrap.difference(a, b);
        held += mean.low <= 0.3 && 0.3 <= mean.high;
        held_difference += difference.low <= 0.1 && 0.1 <= difference.high;
        // Texts are paired, so what they share is no error of the difference.
        if (c == 0) {
            EXPECT_LT(difference.high - difference.low, 1.3 * (mean.high - mean.low));
        }
    }
    EXPECT_NEAR(static_cast<double>(held) / corpora, 0.95, 0.02);
    EXPECT_NEAR(static_cast<double>(held_difference) / corpora, 0.95, 0.02);
}

/// As few as the pairs of a sweep: the percentile interval of 30 values is known to be a little too narrow.
TEST(Bootstrap, IntervalsOfThirtyNormalNumbersHoldTheTruthNearly95TimesIn100) {
    std::mt19937_64 random(23);
    std::normal_distribution<double> normal(2, 3);
    Bootstrap::Columns numbers(30, 2000);
    for (double& x : numbers.reshaped()) x = normal(random);
    int held = 0;
    for (const Interval& of : Bootstrap(30, {.draws = 2000}).means(numbers, Bootstrap::Columns::Ones(30, 1)))
        held += of.low <= 2 && 2 <= of.high;
    EXPECT_GE(held, 1840);
    EXPECT_LE(held, 1920);
}

TEST(Bootstrap, OfEqualNumbersHasNoWidth) {
    const Bootstrap::Columns same = Bootstrap::Columns::Constant(30, 2, 1.25);
    for (const Interval& of : Bootstrap(30).means(same, Bootstrap::Columns::Ones(30, 1))) {
        EXPECT_EQ(of.low, 1.25);
        EXPECT_EQ(of.high, 1.25);
    }
}

TEST(Bootstrap, APairedDifferenceOfEqualTextsIsExactlyZero) {
    const std::vector<TextTerm> terms = {{3, 10}, {1, 4}, {0, 0}, {7, 9}, {2, 3}, {5, 6}};
    const Interval same = Bootstrap(6).difference(terms, terms);
    EXPECT_EQ(same.mean, 0);
    EXPECT_EQ(same.low, 0);
    EXPECT_EQ(same.high, 0);
    // A text that one side lacks does not count on the other side.
    std::vector<TextTerm> lacks = terms;
    lacks[3] = {0, 0};
    EXPECT_EQ(Bootstrap(6).difference(terms, lacks).mean, 0);
}

TEST(Bootstrap, HasNoIntervalForFewTextsAndNoMeanForNone) {
    for (std::int64_t texts = 1; texts < 7; ++texts) {
        std::vector<TextTerm> some;
        for (std::int64_t i = 0; i < texts; ++i) some.push_back({static_cast<double>(i), 1});
        some.push_back({0, 0});
        const Interval found = Bootstrap(texts + 1).mean(some);
        EXPECT_EQ(std::isnan(found.low), texts < kLeastTexts) << texts;
        EXPECT_EQ(std::isnan(found.high), texts < kLeastTexts) << texts;
        EXPECT_EQ(found.mean, static_cast<double>(texts - 1) / 2);
    }

    const Bootstrap bootstrap(3);
    const Interval one = bootstrap.mean(std::vector<TextTerm>{{0, 0}, {2, 4}, {0, 0}});
    EXPECT_EQ(one.mean, 0.5);
    EXPECT_TRUE(std::isnan(one.low));
    EXPECT_TRUE(std::isnan(one.high));
    EXPECT_TRUE(std::isnan(bootstrap.mean(std::vector<TextTerm>(3)).mean));
    EXPECT_TRUE(std::isnan(Bootstrap(0).mean({}).mean));
    EXPECT_THROW(bootstrap.mean(std::vector<TextTerm>(2)), Error);
    EXPECT_THROW(Bootstrap(3, {.draws = 0}), Error);
}

TEST(Bootstrap, TheSameSeedGivesTheSameBitsOnAnyNumberOfThreads) {
    Bootstrap::Columns sums = Bootstrap::Columns::Random(300, 9), weights = Bootstrap::Columns::Random(300, 9).cwiseAbs();
    const auto drawn = [&] { return Bootstrap(300, {.seed = 5}).drawn_means(sums, weights); };
    const Bootstrap::Columns once = on_threads(1, drawn);
    EXPECT_EQ(once, on_threads(3, drawn));
    EXPECT_NE(once, Bootstrap(300, {.seed = 6}).drawn_means(sums, weights));
}

// statsmodels.stats.proportion.proportion_confint(method="wilson")
TEST(ShareInterval, IsWilsons) {
    const auto expect = [](std::int64_t hits, std::int64_t cases, double low, double high) {
        const Interval found = share_interval(hits, cases);
        EXPECT_DOUBLE_EQ(found.mean, static_cast<double>(hits) / static_cast<double>(cases));
        EXPECT_NEAR(found.low, low, 1e-6);
        EXPECT_NEAR(found.high, high, 1e-6);
    };
    expect(8, 10, 0.490162, 0.943318);
    expect(0, 20, 0, 0.161125);
    expect(20, 20, 0.838875, 1);
    EXPECT_TRUE(std::isnan(share_interval(0, 0).mean));
}

}  // namespace
}  // namespace headlight::corpus
