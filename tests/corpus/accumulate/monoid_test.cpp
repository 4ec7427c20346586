// SPDX-License-Identifier: GPL-3.0-or-later
// Sums and examples are the same bytes whatever the order and the splits.
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/arrays.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/accumulate/fixed_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace headlight::corpus {
namespace {

std::vector<double> numbers(std::size_t n) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> exponent(-30, 12), sign(-1, 1);
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(std::copysign(std::exp(exponent(random)), sign(random)));
    return values;
}

TEST(FixedSum, RandomSplitsAndOrdersGiveTheSameBits) {
    std::vector<double> values = numbers(1000);
    FixedSum once;
    for (const double x : values) once.add(x);
    std::mt19937 random(3);
    for (int round = 0; round < 20; ++round) {
        std::ranges::shuffle(values, random);
        std::vector<FixedSum> parts(7);
        for (const double x : values) parts[random() % parts.size()].add(x);
        std::ranges::shuffle(parts, random);
        FixedSum all;
        for (const FixedSum& part : parts) all.merge(part);
        EXPECT_EQ(all, once);
    }
}

TEST(FixedSum, RoundsEachTermToTheNearest40thBinaryPlaceHalfToEven) {
    // fractions.Fraction: round(x * 2**40) / 2**40
    const double unit = 0x1p-40;
    const auto sum_of = [](double x) {
        FixedSum sum;
        sum.add(x);
        return sum.value();
    };
    EXPECT_EQ(sum_of(1.5 * unit), 2 * unit);
    EXPECT_EQ(sum_of(2.5 * unit), 2 * unit);
    EXPECT_EQ(sum_of(-0.5 * unit), 0);
    EXPECT_EQ(sum_of(0.1), 109951162778.0 * unit);
    EXPECT_EQ(sum_of(-1e15), -1e15);
    FixedSum many;
    for (int i = 0; i < 1'000'000; ++i) many.add(0.1);
    EXPECT_NEAR(many.value(), 1e5, 1e6 * 0x1p-41);
}

TEST(FixedSum, SurvivesItsTwoHalvesAndKeepsWhatIsBroken) {
    for (const double x : {0.0, 1.0, -1.0, -1e-12, 3e20, -3e20}) {
        FixedSum sum;
        sum.add(x);
        EXPECT_EQ(FixedSum::of(sum.low(), sum.high()), sum) << x;
    }
    for (const double x : {std::nan(""), std::numeric_limits<double>::infinity(), 1e30}) {
        FixedSum broken, fine;
        broken.add(x);
        fine.add(1);
        fine.merge(broken);
        fine.add(2);
        EXPECT_TRUE(std::isnan(fine.value())) << x;
        EXPECT_TRUE(std::isnan(FixedSum::of(fine.low(), fine.high()).value())) << x;
    }
}

/// Few values, so that there are ties.
std::vector<Example> examples(std::size_t n) {
    std::vector<Example> all;
    for (std::size_t i = 0; i < n; ++i)
        all.push_back({static_cast<float>(i * 7 % 5), static_cast<std::int64_t>(i % 13), static_cast<std::int32_t>(i % 17),
                       static_cast<std::int32_t>(i)});
    return all;
}

TEST(Examples, TheBestDependOnNeitherOrderNorSplits) {
    std::vector<Example> all = examples(200);
    std::vector<Example> expected = all;
    std::ranges::sort(expected, before);
    std::mt19937 random(5);
    for (const std::size_t size : {0u, 1u, 20u, 200u, 300u}) {
        for (int round = 0; round < 5; ++round) {
            std::ranges::shuffle(all, random);
            std::vector<TopExamples> parts(3, TopExamples(static_cast<std::int64_t>(size)));
            for (const Example& each : all) parts[random() % 3].add(each);
            parts[0].merge(parts[2]);
            parts[1].merge(parts[0]);
            const std::vector<Example> best(expected.begin(),
                                            expected.begin() + static_cast<std::ptrdiff_t>(std::min(size, all.size())));
            EXPECT_EQ(parts[1].sorted(), best) << size;
            if (size == 20) {
                EXPECT_EQ(parts[1].floor(), best.back().value);
            }
        }
    }
}

TEST(Arrays, ComeBackAsTheyWereOrSayWhatIsWrong) {
    Arrays arrays;
    const std::vector<std::int32_t> values = {1, 2, 3, 4, 5, 6};
    arrays.put<std::int32_t>("a.b", {2, 3}, values);
    EXPECT_EQ(arrays.get<std::int32_t>("a.b", {-1, 3}), values);
    EXPECT_THROW(arrays.get<std::int32_t>("a.b", {3, 2}), Error);
    EXPECT_THROW(arrays.get<float>("a.b", {2, 3}), Error);
    EXPECT_THROW(arrays.get<float>("a.c", {2, 3}), Error);
    EXPECT_THROW(arrays.put<std::int32_t>("a.c", {5}, values), Error);
}

}  // namespace
}  // namespace headlight::corpus
