// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/compare/compare_heads.h"

#include "headlight/base/error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace headlight::corpus {
namespace {

/// Arrays as Heads saves them, of one layer with two heads: values[chunk][measure][head], one query a chunk.
Arrays heads_arrays(const std::string& measures, const std::vector<std::int64_t>& chunks, const std::vector<float>& values) {
    const std::int64_t m = 1 + std::ranges::count(measures, ','), n = std::ssize(chunks);
    Arrays arrays;
    arrays.put<std::uint8_t>("heads.measures", {std::ssize(measures)},
                             std::vector<std::uint8_t>(measures.begin(), measures.end()));
    arrays.put<std::int64_t>("heads.shape", {3}, std::vector<std::int64_t>{1, 2, 1});
    arrays.put<std::int64_t>("heads.count", {m, 1, 2}, std::vector<std::int64_t>(static_cast<std::size_t>(m * 2), n));
    arrays.put<std::int64_t>("heads.chunks", {n}, chunks);
    arrays.put<float>("heads.values", {n, m, 1, 2}, values);
    arrays.put<std::int32_t>("heads.rows", {n, m, 1}, std::vector<std::int32_t>(static_cast<std::size_t>(n * m), 1));
    return arrays;
}

TEST(CompareHeads, PairsTextsByNumberAndMeasuresByName) {
    const float gap = std::nanf("");
    // Texts 0, 1 and 2 here, texts 1, 2 and 3 there: 1 and 2 count. The other store has its measures in another order.
    const HeadTexts a(heads_arrays("entropy,self", {0, 1, 2}, {9, 9, 9, 9, 1, 2, 0.5F, gap, 3, 4, 0.25F, 0.5F}), {0, 1, 2, 3});
    const HeadTexts b(
        heads_arrays("self,entropy,extra", {1, 2, 3}, {0.5F, 0, 2, 7, 0, 0, 0.75F, 1, 6, 9, 0, 0, 8, 8, 8, 8, 8, 8}),
        {0, 1, 2, 3});
    const std::vector<HeadDifference> same = compare_heads(a, b, same_heads(a, b));
    ASSERT_EQ(same.size(), 4u);
    EXPECT_EQ(same[0].measure, "entropy");
    EXPECT_EQ(same[0].mean, 2);          // 1 and 3
    EXPECT_EQ(same[0].partner_mean, 4);  // 2 and 6
    EXPECT_EQ(same[0].difference.mean, -2);
    EXPECT_TRUE(std::isnan(same[0].difference.low)) << "two texts are too few for an interval";
    EXPECT_EQ(same[0].texts, 2);
    // Text 1 has no such value for head 1: only text 2 counts, on both sides.
    EXPECT_EQ(same[3].measure, "self");
    EXPECT_EQ(same[3].head.head.value, 1);
    EXPECT_EQ(same[3].texts, 1);
    EXPECT_EQ(same[3].difference.mean, 0.5 - 1);
    EXPECT_TRUE(std::isnan(same[3].difference.low));
    EXPECT_EQ(table_of(same).rows.size(), 4u);

    const HeadId first{Layer(0), Head(0)}, second{Layer(0), Head(1)};
    const std::vector<HeadDifference> crossed = compare_heads(a, b, {{first, second}});
    EXPECT_EQ(crossed[0].partner_mean, 8);  // 7 and 9
    EXPECT_THROW(compare_heads(a, b, {{first, {Layer(1), Head(0)}}}), Error);
    const HeadTexts elsewhere(heads_arrays("entropy", {7}, {1, 1}), {0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_THROW(compare_heads(a, elsewhere, {{first, first}}), Error) << "no text in common";
    const HeadTexts other_measures(heads_arrays("extra", {1}, {1, 1}), {0, 1});
    EXPECT_THROW(compare_heads(a, other_measures, {{first, first}}), Error);
}

}  // namespace
}  // namespace headlight::corpus
