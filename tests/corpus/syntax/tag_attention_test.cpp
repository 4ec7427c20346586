// SPDX-License-Identifier: GPL-3.0-or-later
// Attention by part of speech and along dependencies, against transformers and NumPy.
#include "headlight/corpus/syntax/tag_attention.h"

#include "tests/corpus/syntax/treebank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace headlight::corpus {
namespace tag_attention_test {

const TagAttention& of_treebank() {
    static const TagAttention* const tags = [] {
        auto* made = new TagAttention(6, 8, true);
        treebank_runs().add_all(*made);
        return made;
    }();
    return *tags;
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
    const auto patterns = tags.patterns_of(run);
    patterns->add({Layer(0), Head(0)}, {.weights = pattern, .keys = 4});
    tags.add(run, patterns.get());
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

TEST(TagTable, SharesAddUpAndAnEvenHeadHasRatioOne) {
    const Runs& runs = treebank_runs();
    TagAttention tags(1, 1, true);
    for (std::int64_t i = 0; i < 5; ++i) {
        const TextRun run = runs.text_run(i);
        const std::int64_t n = run.tokens();
        std::vector<float> even(static_cast<std::size_t>(n * n));
        for (std::int64_t q = 0; q < n; ++q) std::fill_n(even.begin() + q * n, q + 1, 1.0f / static_cast<float>(q + 1));
        const auto patterns = tags.patterns_of(run);
        patterns->add({Layer(0), Head(0)}, {.weights = even, .keys = n});
        tags.add(run, patterns.get());
    }
    for (const TagSides sides : {TagSides::one, TagSides::both}) {
        const analyze::Table table = tag_table(tags, sides);
        std::map<std::string, double> sums;
        for (const auto& row : table.rows) {
            EXPECT_NEAR(std::get<double>(row[6]), 1, 1e-5);
            const std::string from = std::get<std::string>(row[2]);
            sums[from == "all" || sides == TagSides::both ? from : "to all"] += std::get<double>(row[4]);
        }
        for (const auto& [from, sum] : sums) EXPECT_NEAR(sum, 1, 1e-6) << from;
    }
    EXPECT_NEAR(std::get<double>(alignment_table(tags).rows[0][3]), tags.even_alignment(), 1e-12);
}

}  // namespace tag_attention_test
}  // namespace headlight::corpus
