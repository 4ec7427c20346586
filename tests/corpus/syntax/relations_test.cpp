// SPDX-License-Identifier: GPL-3.0-or-later
// Words and tokens, the word index, and what single heads know of a dependency tree, against transformers and NumPy.
#include "headlight/corpus/syntax/relations.h"

#include "headlight/base/error.h"
#include "tests/corpus/syntax/treebank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace headlight::corpus {
namespace relations_test {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

Text text_of(const std::string& text, const std::vector<std::string>& forms) {
    Text out{.id = "t", .text = text};
    std::size_t at = 0;
    for (const std::string& form : forms) {
        at = text.find(form, at);
        out.words.push_back(
            {.form = form, .begin = static_cast<std::int64_t>(at), .end = static_cast<std::int64_t>(at + form.size())});
        at += form.size();
    }
    return out;
}

text::Encoding encoding_of(const std::vector<text::ByteRange>& offsets, std::size_t special) {
    text::Encoding encoding;
    encoding.offsets = offsets;
    encoding.ids.resize(offsets.size());
    encoding.special.resize(offsets.size());
    encoding.sequence.resize(offsets.size());
    for (std::size_t i = 0; i < special; ++i) encoding.special[i] = true;
    return encoding;
}

TEST(WordTokens, MeetInTheBytes) {
    // "do|n't" is one token with a space before it, the emoji two tokens of the same bytes, and one token is white space alone.
    const Text text = text_of("I don't  \xF0\x9F\x98\x80 x", {"I", "do", "n't", "\xF0\x9F\x98\x80", "x"});
    const WordTokens tokens = word_tokens(text, encoding_of({{0, 0}, {0, 1}, {1, 7}, {7, 8}, {8, 13}, {9, 13}}, 1));
    EXPECT_THAT(tokens.of_word, ElementsAre(ElementsAre(1), ElementsAre(2), ElementsAre(2), ElementsAre(4, 5), ElementsAre()));
    EXPECT_THAT(tokens.of_token,
                ElementsAre(ElementsAre(), ElementsAre(0), ElementsAre(1, 2), ElementsAre(), ElementsAre(3), ElementsAre(3)));
    EXPECT_EQ(tokens.shared, 1);
    EXPECT_EQ(tokens.without, 1);
}

TEST(WordTokens, AStretchBeginsWhereItBegins) {
    const Text text = text_of("one two three", {"one", "two", "three"});
    const WordTokens tokens = word_tokens(text, encoding_of({{0, 3}, {3, 9}}, 0), 4);
    EXPECT_THAT(tokens.of_word, ElementsAre(ElementsAre(), ElementsAre(0), ElementsAre(1)));
}

TEST(WordAttention, SumsColumnsAndAveragesRows) {
    // [CLS] a b1 b2 [SEP] of Clark et al.; [CLS] and [SEP] are no words here.
    WordTokens tokens;
    tokens.of_word = {{1}, {2, 3}};
    tokens.of_token = {{}, {0}, {1}, {1}, {}};
    const std::vector<float> pattern = {1,   0,   0,   0,   0,   .25f, .25f, .25f, .25f, 0, 0, .5f, .1f,
                                        .2f, .2f, .1f, .1f, .6f, .1f,  .1f,  0,    0,    0, 0, 1};
    std::vector<double> attention;
    word_attention(pattern, 5, tokens, attention);
    ASSERT_EQ(attention.size(), 4u);
    const double expected[] = {.25, .5, .3, .5};
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(attention[i], expected[i], 1e-7) << i;
}

TEST(WordAttention, ASharedTokenIsSplitEqually) {
    WordTokens tokens;
    tokens.of_word = {{0}, {0, 1}, {}};
    tokens.of_token = {{0, 1}, {1}};
    const std::vector<float> pattern = {1, 0, .4f, .6f};
    std::vector<double> attention;
    word_attention(pattern, 2, tokens, attention);
    const double expected[] = {.5, .5, 0, .35, .65, 0, 0, 0, 0};
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(attention[i], expected[i], 1e-7) << i;
}

TEST(WordIndex, IsTheSameBytesInAnyOrder) { expect_the_same_bytes_in_any_order(treebank_runs(), WordIndex(6, 8, true)); }

TEST(WordIndex, LeavesOutWhatItCannotRead) {
    const Runs& runs = treebank_runs();
    WordIndex index(6, 8, true);
    TextRun part = runs.text_run(0);
    part.whole = false;
    EXPECT_EQ(index.patterns_of(part), nullptr);
    index.add(part, nullptr);
    EXPECT_EQ(index.counts().left_out, 1);
    EXPECT_TRUE(index.sentences().empty());
}

/// What the reference found, by relation and direction.
std::map<std::pair<std::string, ArcDirection>, json> expected_rows() {
    std::map<std::pair<std::string, ArcDirection>, json> rows;
    const json golden = syntax_golden();
    for (const json& row : golden["relations"])
        rows[{row["relation"], row["direction"] == "to_head" ? ArcDirection::to_head : ArcDirection::to_dependent}] = row;
    return rows;
}

TEST(Relations, EveryHeadFindsTheArcsThatTheReferenceFinds) {
    const WordIndex index = treebank_index();
    EXPECT_EQ(index.counts().shared_tokens, syntax_golden()["shared_tokens"].get<std::int64_t>());
    const auto expected = expected_rows();
    const RelationTable table = relation_table(index, {.all_heads = true, .bootstrap = {.draws = 20}});
    EXPECT_EQ(table.sentences, 51);
    EXPECT_EQ(table.arcs, 846);
    EXPECT_EQ(table.rows.front().relation, "all");
    std::size_t heads = 0;
    for (const RelationRow& row : table.rows) {
        SCOPED_TRACE(row.relation + " " + std::string(enum_word(row.direction)));
        const json& golden = expected.at({row.relation, row.direction});
        EXPECT_EQ(row.n, golden["n"].get<std::int64_t>());
        EXPECT_EQ(row.arcs, golden["arcs"].get<std::int64_t>());
        if (row.n == 0) continue;
        ++heads;
        const std::int64_t head = row.head.layer.value * 8 + row.head.head.value;
        EXPECT_NEAR(row.accuracy.mean, golden["accuracies"][static_cast<std::size_t>(head)].get<double>(), 1e-8) << head;
        EXPECT_NEAR(row.baseline, golden["baseline"].get<double>(), 1e-8);
        EXPECT_EQ(row.offset, golden["offset"].get<std::int64_t>());
        EXPECT_NEAR(row.gain.mean, row.accuracy.mean - row.baseline, 1e-12);
        EXPECT_EQ(row.selection_n, golden["selection_n"].get<std::int64_t>());
        EXPECT_EQ(row.held_out_n, golden["held_out_n"].get<std::int64_t>());
        EXPECT_EQ(row.best, head == golden["head"][0].get<std::int64_t>() * 8 + golden["head"][1].get<std::int64_t>());
        const json& held_out = golden["held_out"];  // null: the head was chosen on all arcs, or half B has none
        EXPECT_EQ(std::isnan(row.held_out.mean), held_out.is_null());
        if (row.best && !held_out.is_null()) {
            EXPECT_NEAR(row.held_out.mean, held_out.get<double>(), 1e-8);
        }
    }
    EXPECT_EQ(heads % 48, 0u);
    EXPECT_GT(heads, 48u * 40);
}

// DEPS: a word counts once for each of its relations, and any of its heads there is right.
TEST(Relations, OfTheGraphAreThoseOfTheReference) {
    const WordIndex index = WordIndex::read(saved_arrays(treebank_index()));
    const RelationTable table = relation_table(index, {.enhanced = true, .all_heads = true, .bootstrap = {.draws = 20}});
    EXPECT_TRUE(table.enhanced);
    std::size_t compared = 0;
    const json golden = syntax_golden()["enhanced"];
    for (const json& expected : golden)
        for (const RelationRow& row : table.rows) {
            const bool same = row.relation == expected["relation"].get<std::string>() &&
                              (row.direction == ArcDirection::to_head) == (expected["direction"] == "to_head");
            if (!same) continue;
            SCOPED_TRACE(row.relation + " " + std::string(enum_word(row.direction)));
            EXPECT_EQ(row.n, expected["n"].get<std::int64_t>());
            EXPECT_EQ(row.arcs, expected["arcs"].get<std::int64_t>());
            ++compared;
            if (row.n == 0) continue;
            const auto head = static_cast<std::size_t>(row.head.layer.value * 8 + row.head.head.value);
            EXPECT_NEAR(row.accuracy.mean, expected["accuracies"][head].get<double>(), 1e-8) << head;
            EXPECT_NEAR(row.baseline, expected["baseline"].get<double>(), 1e-8);
            EXPECT_EQ(row.offset, expected["offset"].get<std::int64_t>());
            EXPECT_EQ(row.held_out_n, expected["held_out_n"].get<std::int64_t>());
        }
    std::size_t expected_rows = 0;
    for (const json& row : golden) expected_rows += row["n"] > 0 ? 48 : 1;
    EXPECT_EQ(compared, expected_rows);

    // Without DEPS: an earlier store, or a treebank of basic trees.
    Runs basic(built_in_model());
    Text plain = treebank_runs().text_run(0).text;
    for (Word& word : plain.words) word.enhanced.clear();
    basic.run_text(plain, {.text = plain.text});
    const WordIndex none = basic.filled(WordIndex(6, 8, true));
    EXPECT_THROW(relation_table(none, {.enhanced = true, .bootstrap = {}}), Error);
}

TEST(Relations, TheShortTableHasTheBestRowsOfTheLongOne) {
    const WordIndex index = treebank_index();
    const BootstrapOptions bootstrap{.draws = 200};
    const RelationTable all = relation_table(index, {.all_heads = true, .bootstrap = bootstrap}),
                        best = relation_table(index, {.bootstrap = bootstrap});
    std::size_t at = 0;
    for (const RelationRow& row : all.rows) {
        if (!row.best && row.n > 0) continue;
        const RelationRow& same = best.rows.at(at++);
        EXPECT_EQ(same.relation, row.relation);
        EXPECT_EQ(same.head, row.head);
        if (row.n > 0 && !std::isnan(row.accuracy.low)) {
            EXPECT_EQ(same.accuracy.low, row.accuracy.low);
            EXPECT_LE(row.accuracy.low, row.accuracy.mean);
            EXPECT_GE(row.accuracy.high, row.accuracy.mean);
        }
    }
    EXPECT_EQ(at, best.rows.size());
}

/// A pattern in which the first token of a word takes all that the word of `from` sends.
std::vector<float> pattern_to(const WordTokens& tokens, std::int64_t offset) {
    const std::size_t n = tokens.of_token.size();
    std::vector<float> pattern(n * n);
    for (std::size_t q = 0; q < n; ++q) {
        std::size_t key = 0;
        if (!tokens.of_token[q].empty()) {
            const std::int64_t word = tokens.of_token[q].front() + offset;
            if (word >= 0 && word < std::ssize(tokens.of_word))
                key = static_cast<std::size_t>(tokens.of_word[static_cast<std::size_t>(word)].front());
        }
        pattern[q * n + key] = 1;
    }
    return pattern;
}

TEST(Relations, AHeadOfOneOffsetIsTheBaselineAndItsTransposeToo) {
    // The excerpt's texts without shared tokens, so that words attend as the pattern says.
    const Runs& runs = treebank_runs();
    WordIndex index(1, 2, false);
    for (std::int64_t i = 0; i < runs.size(); ++i) {
        const TextRun run = runs.text_run(i);
        const WordTokens tokens = word_tokens(run.text, run.encoding);
        if (tokens.shared > 0) continue;
        add_patterns(index, run, {pattern_to(tokens, -1), pattern_to(tokens, 1)});
    }
    ASSERT_GT(index.sentences().size(), 40u);
    const RelationTable table = relation_table(index, {.all_heads = true, .bootstrap = {.draws = 10}});
    std::size_t checked = 0;
    for (const RelationRow& row : table.rows) {
        EXPECT_EQ(row.n, row.arcs) << "nothing is hidden from a model that reads both ways";
        // Attention to the word before: the dependent's, or, of the head that attends to the next word, the head's.
        const bool back = (row.head.head.value == 0) == (row.direction == ArcDirection::to_head);
        if (row.offset != (back ? -1 : 1)) continue;
        EXPECT_EQ(row.accuracy.mean, row.baseline) << row.relation;
        EXPECT_EQ(row.gain.mean, 0) << row.relation;
        ++checked;
    }
    EXPECT_GT(checked, 20u);
}

TEST(Relations, AModelOfRandomWeightsGuesses) {
    // The best of its heads on half A is no better than an offset on half B.
    Runs runs(fixture_model("modernbert"));
    for (std::int64_t i = 0; i < treebank_runs().size(); ++i) {
        const TextRun run = treebank_runs().text_run(i);
        if (run.text.words.size() < 20) runs.run_text(run.text, {.text = run.text.text});
    }
    const model::ModelConfig& config = runs.config();
    const WordIndex index = runs.filled(WordIndex(config.n_layers, config.n_heads, config.causal));
    const RelationTable table = relation_table(index);
    for (const RelationRow& row : table.rows) {
        if (row.n < kFewArcs) continue;
        EXPECT_EQ(row.n, row.arcs);
        EXPECT_LT(row.held_out.mean, row.baseline) << row.relation << " " << enum_word(row.direction);
    }
}

TEST(Relations, ArcsInsideASharedSpanAreLeftOutAndCounted) {
    Runs runs(built_in_model());
    Text text = text_of("al fin", {"al", "al", "fin"});
    text.words[1].begin = 0, text.words[1].end = 2;
    text.words[0] = {.form = "a", .relation = "case", .head = 1, .begin = 0, .end = 2, .shares_span = true};
    text.words[1].shares_span = true;
    text.words[1].head = 2, text.words[1].relation = "det";
    text.words[2] = {.form = "fin", .relation = "root", .head = -1, .begin = 3, .end = 6};
    runs.run_text(text, {.text = text.text});
    const WordIndex index = runs.filled(WordIndex(6, 8, true));
    const RelationTable table = relation_table(index);
    EXPECT_EQ(table.shared_arcs, 1);
    EXPECT_EQ(table.arcs, 1);
    EXPECT_EQ(table.no_trees, 0);
    ASSERT_EQ(table.rows.size(), 4u);
    EXPECT_EQ(table.rows[0].n, 0) << "the head comes later: a causal model's dependent cannot attend to it";
    EXPECT_EQ(table.rows[1].n, 1);
}

TEST(Relations, TablesMarkWhatSaysLittle) {
    const WordIndex index = treebank_index();
    const RelationTable relations = relation_table(index, {.bootstrap = {.draws = 50}});
    const std::string csv = analyze::csv_text(table_of(relations));
    EXPECT_THAT(csv, HasSubstr("relation,direction,layer,head,accuracy,low,high,n,arcs,coverage,baseline,baseline_offset,"));
    EXPECT_THAT(csv, HasSubstr("\n\"det\",\"dependent-to-head\",,,,,,0,77,0,"));
    const std::string latex = latex_of(relations);
    EXPECT_THAT(latex, HasSubstr("det & to dependent & L0H1 & 62.3 ["));
    EXPECT_THAT(latex, HasSubstr("obj$^\\dagger$ & to head & L5H0 & 77.5 ["));
    EXPECT_THAT(latex, HasSubstr("dobj & L7H9 & 86.8 (40.0) \\\\"));
    EXPECT_THAT(latex, HasSubstr("\\bottomrule"));
}

}  // namespace relations_test
}  // namespace headlight::corpus
