// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/map_layout.h"

#include <gtest/gtest.h>

namespace headlight::analyze {
namespace map_layout_test {

/// [CLS] a b1 b2 [SEP].
TokenFacts one_sentence() { return {.special = {true, false, false, false, true}, .words = {-1, 0, 1, 1, -1}, .pair_start = 5}; }

/// [CLS] a1 a2 [SEP] b1 b2 b3 [SEP]; word ids restart in B.
TokenFacts pair() {
    return {
        .special = {true, false, false, true, false, false, false, true}, .words = {-1, 0, 0, -1, 0, 0, 1, -1}, .pair_start = 4};
}

std::vector<float> prepared(const std::vector<std::vector<float>>& rows, const MapLayout& layout, std::size_t row,
                            const float* norms = nullptr) {
    std::vector<float> out(layout.keys.size(), 0.0F);
    const Span span = layout.queries[row];
    for (std::int64_t i = span.first; i < span.first + span.count; ++i)
        add_prepared_row({rows[static_cast<std::size_t>(i)].data(), norms, layout.tokens}, layout,
                         1.0F / static_cast<float>(span.count), out.data());
    return out;
}

void expect_row(const std::vector<float>& found, const std::vector<float>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << "column " << i;
}

std::vector<std::int64_t> firsts(const std::vector<Span>& spans) {
    std::vector<std::int64_t> out;
    for (const Span& span : spans) out.push_back(span.first);
    return out;
}

TEST(MapLayout, MergesWordsByColumnSumAndRowMean) {
    const MapLayout layout = map_layout(one_sentence(), {.merge_words = true});
    const std::vector<Span> words = {{0, 1}, {1, 1}, {2, 2}, {4, 1}};
    EXPECT_EQ(layout.queries, words);
    EXPECT_EQ(layout.keys, words);
    const std::vector<std::vector<float>> rows = {
        {1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, .5F, .1F, .2F, .2F}, {.1F, .1F, .6F, .1F, .1F}, {0, 0, 0, 0, 1}};
    expect_row(prepared(rows, layout, 2), {.05F, .3F, .5F, .15F});  // Clark 2019, 4.1, mode "mean"
}

TEST(MapLayout, WordsOfTheTwoSentencesStayApart) {
    TokenFacts facts{.special = {false, false, false, false}, .words = {0, 0, 0, 0}, .pair_start = 2};
    const MapLayout layout = map_layout(facts, {.merge_words = true});
    EXPECT_EQ(layout.keys, (std::vector<Span>{{0, 2}, {2, 2}}));
}

TEST(MapLayout, PairFilterTakesRowsOfTheFirstAndColumnsOfTheSecond) {
    const std::vector<std::int64_t> a = {0, 1, 2, 3}, b = {4, 5, 6, 7};
    const auto axes = [&](PairFilter filter) { return map_layout(pair(), {.filter = filter}); };
    EXPECT_EQ(firsts(axes(PairFilter::a_to_a).queries), a);
    EXPECT_EQ(firsts(axes(PairFilter::a_to_a).keys), a);
    EXPECT_EQ(firsts(axes(PairFilter::a_to_b).queries), a);
    EXPECT_EQ(firsts(axes(PairFilter::a_to_b).keys), b);
    EXPECT_EQ(firsts(axes(PairFilter::b_to_a).queries), b);
    EXPECT_EQ(firsts(axes(PairFilter::b_to_a).keys), a);
    EXPECT_EQ(firsts(axes(PairFilter::b_to_b).keys), b);
}

TEST(MapLayout, PairSlicesAreNotRenormalised) {
    const MapLayout layout = map_layout(pair(), {.filter = PairFilter::a_to_b});
    const std::vector<float> row = {.1F, .1F, .1F, .1F, .2F, .2F, .1F, .1F};
    std::vector<float> out(4, 0.0F);
    add_prepared_row({row.data(), nullptr, 8}, layout, 1, out.data());
    expect_row(out, {.2F, .2F, .1F, .1F});
}

TEST(MapLayout, HiddenKeysAreDroppedAndTheRestRenormalised) {
    const TokenFacts facts{.special = {false, false, false}, .words = {0, 1, 2}, .pair_start = 3};
    const std::vector<std::vector<float>> row(3, {.5F, .3F, .2F});
    expect_row(prepared(row, map_layout(facts, {.hide_sinks = true}), 0), {.6F, .4F});
    expect_row(prepared(row, map_layout(facts, {.hide_sinks = true, .renormalise = false}), 0), {.3F, .2F});
    const TokenFacts two{.special = {false, false, false}, .words = {0, 1, 2}, .pair_start = 3, .sinks = {true, false, true}};
    expect_row(prepared(row, map_layout(two, {.hide_sinks = true}), 0), {1});
    expect_row(prepared(row, map_layout(two, {}), 0), {.5F, .3F, .2F});
    EXPECT_EQ(map_layout(facts, {.hide_sinks = true}).queries.size(), 3U) << "hide_sinks drops a column, not a row";
}

TEST(MapLayout, ARowThatIsHiddenWholeIsZero) {
    const TokenFacts facts{.special = {true, false}, .words = {-1, 0}, .pair_start = 2};
    const std::vector<std::vector<float>> rows = {{1, 0}, {1, 0}};
    expect_row(prepared(rows, map_layout(facts, {.hide_sinks = true}), 0), {0});
    expect_row(prepared(rows, map_layout(facts, {.hide_special = true}), 0), {0});
}

TEST(MapLayout, HidingSpecialTokensDropsRowsAndColumns) {
    const MapLayout layout = map_layout(pair(), {.filter = PairFilter::b_to_b, .hide_special = true});
    EXPECT_EQ(firsts(layout.queries), (std::vector<std::int64_t>{4, 5, 6}));
    EXPECT_EQ(firsts(layout.keys), (std::vector<std::int64_t>{4, 5, 6}));
    EXPECT_EQ(layout.column_of[7], -1);
    EXPECT_EQ(layout.row_of[4], 0);
    // Renormalised over every key that is not hidden, so that the slice equals the slice of the whole map.
    const std::vector<std::vector<float>> rows(8, {.1F, .2F, .2F, .1F, .1F, .1F, .1F, .1F});
    expect_row(prepared(rows, layout, 0), {.1F / .7F, .1F / .7F, .1F / .7F});
}

TEST(MapLayout, NormWeightingMultipliesAndRenormalises) {
    const TokenFacts facts{.special = {false, false, false}, .words = {0, 1, 2}, .pair_start = 3};
    const std::vector<float> norms = {.1F, 1, 2};
    const std::vector<std::vector<float>> rows(3, {.5F, .3F, .2F});
    expect_row(prepared(rows, map_layout(facts, {}), 0, norms.data()), {.0666667F, .4F, .5333333F});
    expect_row(prepared(rows, map_layout(facts, {.hide_sinks = true}), 0, norms.data()), {.428571F, .571429F});
}

TEST(MapLayout, EverythingHiddenGivesAnEmptyMap) {
    const TokenFacts only_special{.special = {true}, .words = {-1}, .pair_start = 1};
    const MapLayout layout = map_layout(only_special, {.hide_special = true});
    EXPECT_TRUE(layout.queries.empty());
    EXPECT_TRUE(layout.keys.empty());
    const MapLayout no_b = map_layout(one_sentence(), {.filter = PairFilter::b_to_b, .merge_words = true});
    EXPECT_TRUE(no_b.queries.empty());
    const float weight = 1;
    add_prepared_row({&weight, nullptr, 1}, layout, 1, nullptr);  // nothing to write, nothing read
}

TEST(MapLayout, LegalColumnsOfACausalRow) {
    const MapLayout words = map_layout(one_sentence(), {.merge_words = true});
    EXPECT_EQ(legal_columns(words, 0, true), 1);
    EXPECT_EQ(legal_columns(words, 2, true), 3) << "the word b1 b2 attends to itself";
    EXPECT_EQ(legal_columns(words, 0, false), 4);
    const MapLayout to_b = map_layout(pair(), {.filter = PairFilter::a_to_b});
    EXPECT_EQ(legal_columns(to_b, 3, true), 0);
}

}  // namespace map_layout_test
}  // namespace headlight::analyze
