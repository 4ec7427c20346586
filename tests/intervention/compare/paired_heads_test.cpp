// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/compare/paired_heads.h"
#include "tests/intervention/compare/runs.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace headlight::intervention {
namespace paired_heads_test {

using testing::HasSubstr;

const std::vector<std::pair<std::string, std::string>> texts{
    {"The old cat asked.", "The new cat asked."},       {"The cat asked the old man.", "The cat asked the new man."},
    {"A man saw the cat.", "A man saw the dog."},       {"The dog was old.", "The dog was new."},
    {"The man asked the cat.", "The man saw the cat."}, {"The dog saw a man.", "The dog saw a cat."}};

TracePtr run_text(const std::string& text) { return run_model(source_folder() / "tests/fixtures/models/gpt2", text); }

std::vector<TextPair> text_pairs(std::size_t count) {
    std::vector<TextPair> pairs;
    for (std::size_t p = 0; p < count; ++p)
        pairs.push_back({.a = texts[p].first, .b = texts[p].second, .name = "line " + std::to_string(p + 1)});
    return pairs;
}

const PairedMeasure& measure(const PairedHeads& of, const std::string& id) {
    return *std::ranges::find(of.measures, id, [](const PairedMeasure& m) { return m.info.id; });
}

TEST(PairedHeads, AreMeansOfWhatEachPairHas) {
    const PairedHeads all = paired_heads(text_pairs(6), run_text, {.by = "entropy"});
    ASSERT_EQ(all.pairs, 6);
    double a = 0, b = 0, moved = 0;
    const HeadId head{Layer(1), Head(1)};
    for (const auto& [first, second] : texts) {
        const RunPair pair = pair_of(run_text(first), run_text(second));
        a += analyze::head_measure(*pair.a, head, "entropy") / 6;
        b += analyze::head_measure(*pair.b, head, "entropy") / 6;
        moved += compare_heads(pair, {{head, head}}).heads.front().tv / 6;
    }
    const auto at = static_cast<std::size_t>(all.n_heads + 1);
    const PairedHead& entropy = measure(all, "entropy").heads[at];
    EXPECT_NEAR(entropy.a.mean, a, 1e-9);
    EXPECT_NEAR(entropy.b.mean, b, 1e-9);
    EXPECT_NEAR(entropy.difference.mean, b - a, 1e-9);
    EXPECT_LT(entropy.difference.low, entropy.difference.mean);
    EXPECT_GT(entropy.difference.high, entropy.difference.mean);
    EXPECT_NEAR(measure(all, "tv").heads[at].difference.mean, moved, 1e-9);
    EXPECT_GT(measure(all, "tv").heads[at].difference.low, 0);
}

/// Copies of a pair in one group say no more than the pair: the interval is that of the groups.
TEST(PairedHeads, PairsOfAGroupAreDrawnTogether) {
    std::vector<TextPair> once = text_pairs(6), thrice;
    for (TextPair& pair : once) {
        pair.group = pair.a;
        for (int copy = 0; copy < 3; ++copy) thrice.push_back(pair);
    }
    const PairedHeads one = paired_heads(once, run_text), three = paired_heads(thrice, run_text);
    EXPECT_EQ(three.pairs, 18);
    EXPECT_EQ(three.groups, 6);
    for (std::size_t i = 0; i < one.shown().heads.size(); ++i) {
        EXPECT_NEAR(one.shown().heads[i].difference.low, three.shown().heads[i].difference.low, 1e-12);
        EXPECT_NEAR(one.shown().heads[i].difference.high, three.shown().heads[i].difference.high, 1e-12);
    }
}

TEST(PairedHeads, FourPairsHaveNoInterval) {
    const PairedHeads four = paired_heads(text_pairs(4), run_text);
    EXPECT_TRUE(std::isfinite(four.shown().heads.front().difference.mean));
    EXPECT_TRUE(std::isnan(four.shown().heads.front().difference.low));
    EXPECT_FALSE(four.shown().heads.front().holds_zero());
}

TEST(PairedHeads, AttentionOfWordsIsTheWeightBetweenThem) {
    std::vector<TextPair> pairs = text_pairs(1);
    pairs[0].from_a = pairs[0].from_b = {.words = "asked"};
    pairs[0].to_a = {.words = "old"}, pairs[0].to_b = {.words = "new"};
    const PairedHeads of = paired_heads(pairs, run_text);
    ASSERT_EQ(of.by, kWordsMeasure);
    const TracePtr run = run_text(texts[0].first);
    const auto labels = run->labels();
    const analyze::Matrix map = analyze::pattern(*run, {Layer(0), Head(1)}, {});
    // Tokens of " old" and of " asked", by the bytes that they stand for.
    double sum = 0;
    int queries = 0;
    for (std::int64_t q = 0; q < run->encoding().size(); ++q) {
        const text::ByteRange at = run->encoding().offsets[static_cast<std::size_t>(q)];
        if (at.end <= 12 || at.begin >= 17) continue;
        ++queries;
        for (std::int64_t k = 0; k < run->encoding().size(); ++k) {
            const text::ByteRange key = run->encoding().offsets[static_cast<std::size_t>(k)];
            if (key.end > 4 && key.begin < 7) sum += static_cast<double>(map(q, k));
        }
    }
    ASSERT_GT(queries, 0);
    EXPECT_NEAR(of.shown().heads[1].a.mean, sum / queries, 1e-6);
    EXPECT_GT(of.shown().heads[1].a.mean, 0);
}

TEST(PairedHeads, NamesThePairsThatItSkips) {
    std::vector<TextPair> pairs = text_pairs(2);
    pairs[1].from_a = pairs[1].from_b = {.words = "the old"};
    pairs[1].to_a = pairs[1].to_b = {.words = "cat"};
    const PairedHeads of = paired_heads(pairs, run_text);
    EXPECT_EQ(of.pairs, 1);
    EXPECT_THAT(of.skipped, testing::ElementsAre(testing::AllOf(HasSubstr("line 2"), HasSubstr("\"the old\""))));
    EXPECT_THAT(notes_of(of), testing::Contains(HasSubstr("skipped line 2")));
    pairs.erase(pairs.begin());
    EXPECT_THROW(paired_heads(pairs, run_text), Error);
    // To a later token a causal model has no attention.
    pairs[0].from_a = pairs[0].from_b = {.words = "cat"};
    pairs[0].to_a = pairs[0].to_b = {.words = "man"};
    try {
        paired_heads(pairs, run_text);
        FAIL();
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("causal"));
    }
}

TEST(TextPairs, HaveTheNamesOfThreeKindsOfFiles) {
    const test::TempFolder folder;
    const std::string file = folder / "pairs.jsonl";
    std::ofstream(file) << R"({"a": "x y", "b": "x z", "group": "g", "from": {"a": "y", "b": [1]}, "to": "x"})"
                        << "\n\n"
                        << R"({"clean": "c", "corrupt": "d", "answer": " e"})"
                        << "\n"
                        << R"({"sentence_good": "good", "sentence_bad": "bad", "UID": "u"})"
                        << "\n";
    const std::vector<TextPair> pairs = read_text_pairs(file);
    ASSERT_EQ(pairs.size(), 3u);
    EXPECT_EQ(pairs[0].group, "g");
    EXPECT_EQ(pairs[0].from_a.words, "y");
    EXPECT_EQ(pairs[0].from_b.positions, std::vector<std::int64_t>{1});
    EXPECT_EQ(pairs[0].to_b.words, "x");
    EXPECT_EQ(pairs[1].b, "d");
    EXPECT_EQ(pairs[2].a, "good");
    EXPECT_EQ(pairs[2].name, "line 4");
    const auto fails = [&](const std::string& line, const std::string& says) {
        std::ofstream(file) << line << "\n";
        try {
            read_text_pairs(file);
            ADD_FAILURE() << line;
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("line 1"), HasSubstr(says)));
        }
    };
    fails(R"({"a": "x"})", "b");
    fails(R"({"text": "x"})", "no texts");
    fails(R"({"a": "x", "b": "y", "from": "x"})", "from");
    fails(R"({"a": "x", "b": "y", "from": {"a": "x"}, "to": "x"})", "both texts");
    fails(R"(["x", "y"])", "not a JSON object");
}

}  // namespace paired_heads_test
}  // namespace headlight::intervention
