// SPDX-License-Identifier: GPL-3.0-or-later
// Attention by part of speech and along dependencies, against transformers and NumPy.
#include "headlight/corpus/syntax/tag_attention.h"
#include "headlight/corpus/statistics/least_texts.h"

#include "tests/corpus/syntax/treebank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace headlight::corpus {
namespace tag_attention_test {

const TagAttention& of_treebank() {
    static const TagAttention tags = treebank_runs().filled(TagAttention(6, 8, true));
    return tags;
}

TEST(TagAttention, SharesAreThoseOfTheReference) {
    const nlohmann::json golden = syntax_golden();
    const TagAttention& tags = of_treebank();
    EXPECT_EQ(tags.texts(), 51);
    for (std::size_t a = 0; a < kTagCount; ++a) {
        EXPECT_EQ(golden["tags"][a], kTokenTags[a]);
        EXPECT_NEAR(tags.rows(a), golden["tag_rows"][a].get<double>(), 1e-6);
        for (std::size_t b = 0; b < kTagCount; ++b) {
            EXPECT_NEAR(tags.even_mass(a, b), golden["tag_base"][a][b].get<double>(), 1e-6) << a << " " << b;
            for (std::size_t i = 0; i < golden["tag_mass"].size(); ++i)
                EXPECT_NEAR(tags.mass(static_cast<std::int64_t>(7 * i), a, b), golden["tag_mass"][i][a][b].get<double>(), 1e-3)
                    << "head " << 7 * i << ", " << kTokenTags[a] << " to " << kTokenTags[b];
        }
    }
}

TEST(TagAttention, AlignmentIsThatOfTheReference) {
    const nlohmann::json golden = syntax_golden();
    for (std::int64_t head = 0; head < 48; ++head) {
        const auto at = static_cast<std::size_t>(head);
        EXPECT_NEAR(of_treebank().alignment(head), golden["alignment"][at].get<double>(), 1e-5) << head;
        EXPECT_NEAR(of_treebank().distance(head), golden["distance"][at].get<double>(), 1e-4) << head;
    }
    EXPECT_NEAR(of_treebank().even_alignment(), golden["alignment_even"].get<double>(), 1e-8);
}

TEST(TagAttention, AlignmentLeavesTheFirstTokenOut) {
    Runs runs(built_in_model());
    Text text{.text = "the old man"};
    text.words = {{.form = "the", .head = 1, .begin = 0, .end = 3},
                  {.form = "old", .head = 2, .begin = 4, .end = 7},
                  {.form = "man", .begin = 8, .end = 11}};
    runs.run_text(text, {.text = text.text});
    const TextRun run = runs.text_run(0);
    ASSERT_EQ(run.tokens(), 4) << "<s> and a token a word";
    const std::vector<float> pattern = {1, 0, 0, 0, .8f, .2f, 0, 0, .5f, .3f, .2f, 0, .4f, .1f, .4f, .1f};
    TagAttention tags(1, 1, true);
    add_patterns(tags, run, {pattern});
    EXPECT_NEAR(tags.alignment(0), .7 / 1.3, 1e-7);
    EXPECT_NEAR(tags.distance(0), .9 / 1.3, 1e-7);
    EXPECT_NEAR(tags.even_alignment(), (0 + 1.0 / 2 + 1.0 / 3) / 3, 1e-9);
}

TEST(TagAttention, ATokenIsNoArcWithItselfNorWordsOfTheSameBytes) {
    Runs runs(built_in_model());
    // "old" is two words, of which one depends on the other; then both words have both tokens of "old man".
    for (const bool shares : {false, true}) {
        Text text{.text = "the old man"};
        text.words = {{.form = "the", .begin = 0, .end = 3},
                      {.form = "ol", .begin = 4, .end = shares ? 11 : 6, .shares_span = shares},
                      {.form = "d", .head = 1, .begin = shares ? 4 : 6, .end = shares ? 11 : 7, .shares_span = shares}};
        runs.run_text(text, {.text = text.text});
    }
    for (std::int64_t i = 0; i < 2; ++i) {
        TagAttention tags(6, 8, true);
        runs.add(tags, i);
        EXPECT_GT(tags.distance(0), 0);
        EXPECT_EQ(tags.alignment(0), 0) << i;
        EXPECT_EQ(tags.even_alignment(), 0) << i;
    }
}

TEST(TagAttention, IsTheSameBytesInAnyOrder) { expect_the_same_bytes_in_any_order(treebank_runs(), TagAttention(6, 8, true)); }

/// Texts whose heads are even over their legal keys.
TagAttention even_heads(std::int64_t texts) {
    const Runs& runs = treebank_runs();
    TagAttention tags(1, 1, true);
    for (std::int64_t i = 0; i < texts; ++i) {
        const TextRun run = runs.text_run(i);
        const std::int64_t n = run.tokens();
        std::vector<float> even(static_cast<std::size_t>(n * n));
        for (std::int64_t q = 0; q < n; ++q) std::fill_n(even.begin() + q * n, q + 1, 1.0f / static_cast<float>(q + 1));
        add_patterns(tags, run, {even});
    }
    return tags;
}

TEST(TagTable, SharesAddUpAndAnEvenHeadHasRatioOne) {
    const TagAttention tags = even_heads(5);
    for (const TagSides sides : {TagSides::one, TagSides::both}) {
        std::map<std::size_t, double> sums;
        for (const TagShare& of : tag_shares(tags, sides)) {
            EXPECT_NEAR(of.share.mean / of.base, 1, 1e-5);
            sums[of.from == kTagCount || sides == TagSides::both ? of.from : kTagCount + 1] += of.share.mean;
        }
        for (const auto& [from, sum] : sums) EXPECT_NEAR(sum, 1, 1e-6) << from;
    }
    EXPECT_NEAR(head_alignments(tags)[0].base, tags.even_alignment(), 1e-12);
}

// The reference has each text's sums from transformers and NumPy; the draws are those of Bootstrap, which has tests of its own.
TEST(TagTable, IntervalsAreThoseOfTheTextsOfTheReference) {
    const nlohmann::json golden = syntax_golden();
    const TagAttention& tags = of_treebank();
    const BootstrapOptions options{.draws = 400, .seed = 3};
    const auto interval_of = [&](const nlohmann::json& sums, const nlohmann::json& weights) {
        std::vector<TextTerm> terms;
        for (std::size_t t = 0; t < sums.size(); ++t) terms.push_back({sums[t].get<double>(), weights[t].get<double>()});
        return Bootstrap(std::ssize(terms), options).mean(terms);
    };
    const auto near = [](const Interval& found, const Interval& expected, double tolerance) {
        EXPECT_NEAR(found.mean, expected.mean, tolerance);
        EXPECT_NEAR(found.low, expected.low, tolerance);
        EXPECT_NEAR(found.high, expected.high, tolerance);
        EXPECT_LT(found.low, found.mean);
        EXPECT_LT(found.mean, found.high);
    };
    std::size_t found = 0;
    std::vector<TagShare> shares = tag_shares(tags, TagSides::one, options);
    const std::vector<TagShare> pairs = tag_shares(tags, TagSides::both, options);
    shares.insert(shares.end(), pairs.begin(), pairs.end());
    const auto word = [](std::size_t tag) { return tag == kTagCount ? std::string("all") : std::string(kTokenTags[tag]); };
    for (const nlohmann::json& one : golden["tag_texts"]) {
        SCOPED_TRACE(one["from"].get<std::string>() + " to " + one["to"].get<std::string>());
        for (const TagShare& of : shares) {
            if (of.head != HeadId{Layer(2), Head(1)} || word(of.from) != one["from"].get<std::string>() ||
                word(of.to) != one["to"].get<std::string>())
                continue;
            near(of.share, interval_of(one["sums"], one["weights"]), 1e-5);
            ++found;
        }
    }
    EXPECT_EQ(found, golden["tag_texts"].size());
    const HeadAlignment head = head_alignments(tags, options)[2 * 8 + 1];
    const nlohmann::json& texts = golden["alignment_texts"];
    near(head.alignment, interval_of(texts["along"], texts["off_first"]), 1e-5);
    near(head.distance, interval_of(texts["distance"], texts["off_first"]), 1e-4);
}

TEST(TagTable, FewTextsHaveNoInterval) {
    const TagAttention few = even_heads(kLeastTexts - 1), enough = even_heads(kLeastTexts);
    EXPECT_TRUE(std::isnan(head_alignments(few)[0].alignment.low));
    EXPECT_FALSE(std::isnan(head_alignments(enough)[0].alignment.low));
    const analyze::Table table = table_of(tag_shares(few, TagSides::one));
    EXPECT_EQ(std::get<std::string>(table.rows[0][2]), "all");
    EXPECT_TRUE(std::isnan(std::get<double>(table.rows[0][5])));
}

}  // namespace tag_attention_test
}  // namespace headlight::corpus
