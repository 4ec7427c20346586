// SPDX-License-Identifier: GPL-3.0-or-later
// Questions about words of a treebank: what they count on a hand-made index, and where mistakes are.
#include "headlight/corpus/syntax/word_query.h"

#include "headlight/base/error.h"
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/corpus/syntax/exact_weights.h"
#include "headlight/corpus/syntax/relations.h"
#include "tests/corpus/syntax/treebank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headlight::corpus {
namespace word_query_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Three sentences "she sees it" (root sees) of a one-layer model with three heads, of which the index is filled by hand.
const WordIndex& hand_made() {
    static const WordIndex* const index = [] {
        auto* made = new WordIndex(1, 3, true);
        static Runs runs(built_in_model());
        Text text{.text = "she sees it"};
        text.words = {{.form = "she", .upos = "PRON", .relation = "nsubj", .head = 1, .begin = 0, .end = 3},
                      {.form = "sees", .upos = "VERB", .relation = "root", .head = -1, .begin = 4, .end = 8},
                      {.form = "it", .upos = "PRON", .relation = "obj", .head = 1, .begin = 9, .end = 11}};
        for (const char* id : {"a", "b", "c"}) {
            text.id = id;
            runs.run_text(text, {.text = text.text});
        }
        for (std::int64_t i = 0; i < 3; ++i) {
            const TextRun run = runs.text_run(i);
            const std::int64_t n = run.tokens();
            const WordTokens tokens = word_tokens(run.text, run.encoding);
            const auto pattern = [&](float sees_she, float it_she, float it_sees) {
                std::vector<float> weights(static_cast<std::size_t>(n * n));
                const auto put = [&](std::size_t from, std::size_t to, float w) {
                    for (const std::int64_t q : tokens.of_word[from]) {
                        weights[static_cast<std::size_t>(q * n + tokens.of_word[to].front())] += w;
                        weights[static_cast<std::size_t>(q * n)] = 0.1f;
                    }
                };
                put(1, 0, sees_she), put(2, 0, it_she), put(2, 1, it_sees);
                return weights;
            };
            add_patterns(*made, run,
                         {pattern(.8f, .1f, .7f), pattern(i == 0 ? .9f : .04f, .5f, .2f), pattern(0, i == 2 ? .6f : .1f, .3f)});
        }
        return made;
    }();
    return *index;
}

struct Attends {
    std::int32_t from, to;
    float weight;
};
/// One sentence, and one head that reads both ways; its weights go to the first token of a word.
WordIndex index_of(const Text& text, const std::vector<Attends>& weights) {
    Runs runs(treebank_runs().model(), treebank_runs().tokenizer());
    runs.run_text(text, {.text = text.text});
    const TextRun run = runs.text_run(0);
    const std::int64_t n = run.tokens();
    const WordTokens tokens = word_tokens(run.text, run.encoding);
    std::vector<float> pattern(static_cast<std::size_t>(n * n));
    for (const auto& [from, to, weight] : weights)
        for (const std::int64_t q : tokens.of_word[static_cast<std::size_t>(from)])
            pattern[static_cast<std::size_t>(q * n + tokens.of_word[static_cast<std::size_t>(to)].front())] += weight;
    WordIndex index(1, 1, false);
    add_patterns(index, run, {pattern});
    return index;
}

std::vector<std::int64_t> heads_of(const std::string& expression) {
    std::vector<std::int64_t> heads;
    for (const HeadId head : WordQuery(expression, hand_made()).heads()) heads.push_back(head.head.value);
    return heads;
}

TEST(WordQuery, SharesAndWeightsAreCounted) {
    // sees → she: .8 .8 .8 | .9 .04 .04 | 0 0 0, and she is what "sees" attends to most in the first two heads.
    EXPECT_THAT(heads_of("heads where VERB attends to its nsubj > 60 %"), ElementsAre(0, 1));
    EXPECT_THAT(heads_of("VERB attends to its nsubj > 0.5"), ElementsAre(0));
    EXPECT_THAT(heads_of("VERB attends to its nsubj >= 0.3"), ElementsAre(0, 1));
    EXPECT_THAT(heads_of("VERB attends to its nsubj > 0.5 in 1 texts"), ElementsAre(0, 1));
    EXPECT_THAT(heads_of("VERB attends to its nsubj > 0.5 in 2 texts"), ElementsAre(0));
    EXPECT_THAT(heads_of("root attends to PRON < 50%"), ElementsAre(2));
    EXPECT_THAT(heads_of("50 % > root attends to word"), ElementsAre(2));
    // it → she or sees
    EXPECT_THAT(heads_of("\"IT\" attends to VERB > 60 %"), ElementsAre(0, 2));
    EXPECT_THAT(heads_of("'it' attends to VERB > 0.25"), ElementsAre(0));
    EXPECT_THAT(heads_of("obj attends to its head > 0.25"), ElementsAre(0, 2)) << "the weight is known though not the largest";
    EXPECT_THAT(heads_of("`it` attends to 'she' > 30 % and not (VERB attends to its nsubj < 50 %)"), ElementsAre(1));
}

TEST(WordQuery, CasesNeedAWordThatCanBeAttendedTo) {
    const WordQuery back("PRON attends to VERB > 60 %", hand_made()), its("VERB attends to its obj > 1 %", hand_made());
    EXPECT_EQ(back.conditions()[0].cases, 3);
    EXPECT_EQ(back.conditions()[0].out_of_reach, 3) << "she comes before the verb";
    EXPECT_EQ(back.conditions()[0].offset, -1);
    EXPECT_EQ(back.conditions()[0].offset_share, 1);
    EXPECT_EQ(its.conditions()[0].cases, 0);
    EXPECT_EQ(its.conditions()[0].out_of_reach, 3);
    EXPECT_TRUE(its.heads().empty());
}

TEST(WordQuery, ExamplesAreHitsMissesAndCounterExamples) {
    const WordQuery query("VERB attends to its nsubj > 10 %", hand_made());
    const analyze::Table table = examples_of(query, 0, {Layer(0), Head(1)}, 5, hand_made());
    const std::string csv = analyze::csv_text(table);
    EXPECT_THAT(csv, HasSubstr("\"hit\",0,1,\"a\",0.9"));
    EXPECT_THAT(csv, HasSubstr("\"counter-example\",0,1,\"b\",0.0"));
    EXPECT_THAT(csv, HasSubstr("\"{she} [sees] it\""));
    EXPECT_EQ(table.rows.size(), 5u) << "three hits, of which two are counter-examples";
    const std::string other = analyze::csv_text(examples_of(query, 0, {Layer(0), Head(2)}, 1, hand_made()));
    EXPECT_THAT(other, HasSubstr("\"miss\",0,2,\"a\",0,0,\"sees\",\"she\",\"\","));
}

TEST(WordQuery, WithoutItsTheWeightOfAMissIsUnknown) {
    Text text{.id = "s", .text = "dogs cats fish ran"};
    text.words = {{.form = "dogs", .upos = "NOUN", .begin = 0, .end = 4},
                  {.form = "cats", .upos = "NOUN", .begin = 5, .end = 9},
                  {.form = "fish", .upos = "NOUN", .begin = 10, .end = 14},
                  {.form = "ran", .upos = "VERB", .begin = 15, .end = 18}};
    const WordIndex index = index_of(text, {{0, 3, .6f}, {0, 1, .3f}, {1, 0, .7f}, {2, 3, .03f}, {2, 0, .02f}});
    const WordQuery query("NOUN attends to NOUN > 0.2 or NOUN attends to NOUN > 0.2 in 1 texts", index);
    EXPECT_NEAR((*query.measures().find("NOUN attends to NOUN: weight at least"))(0, 0), .7 / 3, 1e-4);
    EXPECT_FALSE(query.measures().find("NOUN attends to NOUN: weight"));
    const std::vector<WordQuery::Case> cases = query.cases(0, {Layer(0), Head(0)});
    ASSERT_EQ(cases.size(), 3u);
    EXPECT_TRUE(std::isnan(cases[0].weight)) << "it is 0.3, and the index does not know";
    EXPECT_NEAR(cases[0].at_most(), .6, 1e-4);
    EXPECT_NEAR(cases[1].weight, .7, 1e-4);
    const std::string csv = analyze::csv_text(examples_of(query, 0, {Layer(0), Head(0)}, 5, index));
    EXPECT_THAT(csv, HasSubstr("\"miss\",0,0,\"s\",,0.6,\"dogs\""));
    EXPECT_THAT(csv, Not(HasSubstr("\"counter-example\",0,0,\"s\",,0.6")));
    EXPECT_THAT(csv, HasSubstr("\"counter-example\",0,0,\"s\",,0.03,\"fish\"")) << "no word has more than 3 % of it";
    EXPECT_LT(csv.find("\"miss\",0,0,\"s\",,0.6"), csv.find("\"miss\",0,0,\"s\",,0.03"));
}

TEST(WordQuery, AMissShowsTheTargetThatItsWeightIsOn) {
    Text text{.id = "s", .text = "tea cup holder broke"};
    text.words = {{.form = "tea", .upos = "NOUN", .relation = "compound", .head = 2, .begin = 0, .end = 3},
                  {.form = "cup", .upos = "NOUN", .relation = "compound", .head = 2, .begin = 4, .end = 7},
                  {.form = "holder", .upos = "NOUN", .relation = "nsubj", .head = 3, .begin = 8, .end = 14},
                  {.form = "broke", .upos = "VERB", .begin = 15, .end = 20}};
    const WordIndex index = index_of(text, {{2, 0, .1f}, {2, 1, .2f}, {2, 3, .6f}});
    const auto cases = WordQuery("NOUN attends to its compound > 0", index).cases(0, {Layer(0), Head(0)});
    ASSERT_EQ(cases.size(), 1u);
    EXPECT_EQ(cases[0].target, 1);
    EXPECT_NEAR(cases[0].weight, .2, 1e-4);
}

TEST(WordQuery, TheCaseOfANameTellsTagFromRelation) {
    Text text{.id = "s", .text = "she has to go"};
    text.words = {{.form = "she", .upos = "PRON", .relation = "nsubj", .head = 3, .begin = 0, .end = 3},
                  {.form = "has", .upos = "AUX", .relation = "cop", .head = 3, .begin = 4, .end = 7},
                  {.form = "to", .upos = "PART", .relation = "aux", .head = 3, .begin = 8, .end = 10},
                  {.form = "go", .upos = "AUX", .relation = "root", .head = -1, .begin = 11, .end = 13}};
    const WordIndex index = index_of(text, {{1, 3, .6f}, {2, 0, .5f}});
    const auto share = [&](const std::string& name) {
        const WordQuery query(name + " attends to its head > 1 %", index);
        return query.conditions()[0].cases == 1 ? query.shares(0, {{Layer(0), Head(0)}})[0].mean : -1;
    };
    EXPECT_EQ(share("AUX"), 1);
    EXPECT_EQ(share("aux"), 0);
    EXPECT_EQ(share("Aux"), 1) << "the tag first";
    EXPECT_EQ(share("NSUBJ"), 0);
    EXPECT_EQ(WordQuery("AUX attends to its AUX > 1 %", index).conditions()[0].cases, 1) << "behind its stands a relation";
}

TEST(WordQuery, AFormIsFoundInAnyCaseOfAnyLetters) {
    Text text{.id = "s", .text = "L'\xC3\x89tat va"};
    text.words = {{.form = "L'", .begin = 0, .end = 2},
                  {.form = "\xC3\x89tat", .begin = 2, .end = 7},
                  {.form = "va", .begin = 8, .end = 10}};
    const WordIndex index = index_of(text, {{1, 0, .6f}});
    for (const char* form : {"\xC3\xA9tat", "\xC3\x89TAT", "\xC3\x89tat"}) {
        const WordQuery query("'" + std::string(form) + "' attends to \"l'\" > 50 %", index);
        EXPECT_EQ(query.conditions()[0].cases, 1) << form;
    }
}

TEST(WordQuery, WordsOfTheSameBytesAreNoCase) {
    Text text{.id = "s", .text = "al fin"};
    text.words = {{.form = "a", .upos = "ADP", .relation = "case", .head = 1, .begin = 0, .end = 2, .shares_span = true},
                  {.form = "el", .upos = "DET", .relation = "det", .head = 2, .begin = 0, .end = 2, .shares_span = true},
                  {.form = "fin", .upos = "NOUN", .relation = "root", .begin = 3, .end = 6}};
    const WordIndex index = index_of(text, {{1, 2, .6f}});
    const auto cases = [&](const char* question) { return WordQuery(question, index).conditions()[0].cases; };
    EXPECT_EQ(cases("ADP attends to its head > 1 %"), 0);
    EXPECT_EQ(cases("DET attends to its case > 1 %"), 0);
    EXPECT_EQ(cases("ADP attends to DET > 1 %"), 0);
    EXPECT_EQ(cases("DET attends to its head > 1 %"), 1);
}

struct Mistake {
    const char* expression;
    const char* column;
    const char* problem;
};
class WordQueryMistake : public testing::TestWithParam<Mistake> {};
TEST_P(WordQueryMistake, NamesItsColumn) {
    try {
        WordQuery(GetParam().expression, hand_made());
        ADD_FAILURE() << "was accepted";
    } catch (const Error& e) {
        EXPECT_EQ(e.facts().item, GetParam().column) << e.what();
        EXPECT_THAT(e.what(), HasSubstr(GetParam().problem));
    }
}
INSTANTIATE_TEST_SUITE_P(All, WordQueryMistake,
                         testing::Values(Mistake{"VREB attends to its nsubj > 60 %", "column 1", "Did you mean VERB?"},
                                         Mistake{"VERB attends to its nsub > 60 %", "column 21", "Did you mean nsubj?"},
                                         Mistake{"é and VERB attends to \"it\" > 0", "column 1", "No such measure"},
                                         Mistake{"'é' attends to its 'it' > 0", "column 20", "Its what?"},
                                         Mistake{"VERB attends its nsubj > 60 %", "column 14", "\"to\" is missing"},
                                         Mistake{"VERB attends to its", "column 20", "A word is missing"},
                                         Mistake{"VERB attends to its nsubj", "column 26", "A comparison is missing"},
                                         Mistake{"VERB attends to its nsubj > ", "column 29", "A number is missing"},
                                         Mistake{"VERB attends to its nsubj > 60", "column 1", "60 % is a share"},
                                         Mistake{"VERB attends to PRON < 0.1", "column 1", "is a lower bound"},
                                         Mistake{"0.1 >= VERB attends to PRON", "column 8", "is a lower bound"},
                                         Mistake{"VERB attends to PRON = 0 in 3 texts", "column 1", "is a lower bound"},
                                         Mistake{"VERB attends to its nsubj > 160 %", "column 1", "is out of range"},
                                         Mistake{"VERB attends to its nsubj > 0.5 in 2", "column 37", "\"texts\" is missing"},
                                         Mistake{"VERB attends to its nsubj > 0.5 in 1.5 texts", "column 36", "number of texts"},
                                         Mistake{"VERB attends to its nsubj > 50 % in 2 texts", "column 1", "of all texts"},
                                         Mistake{"VERB attends to its nsubj > 60 % layer = 1", "column 34", "without a word"}));

TEST(WordQuery, OfTheTreebankIsWhatTheIndexSays) {
    const WordIndex index = treebank_index(), read = WordIndex::read(saved_arrays(index));
    const WordQuery query("PRON attends to its head >= 0 or nsubj:pass attends to its head >= 0", read);
    ASSERT_EQ(query.heads().size(), 48u);
    for (const HeadId head : {HeadId{Layer(1), Head(2)}, HeadId{Layer(5), Head(7)}}) {
        const std::int64_t h = head.layer.value * 8 + head.head.value;
        std::int64_t cases = 0, hits = 0;
        double weight = 0;
        for (const auto& [number, sentence] : index.sentences())
            for (std::int32_t w = 0; w < std::ssize(sentence.words); ++w) {
                const Word& word = sentence.words[static_cast<std::size_t>(w)];
                if (word.upos != "PRON" || word.head < 0 || word.head > w) continue;
                ++cases;
                const auto at = static_cast<std::size_t>(w * 48 + h);
                hits += sentence.to[at] == word.head;
                weight += sentence.head_weight[at] * kWeightUnit;
            }
        EXPECT_EQ(query.conditions()[0].cases, cases);
        const auto value = [&](const char* id) { return (*query.measures().find(id))(head.layer.value, head.head.value); };
        EXPECT_EQ(value("PRON attends to its head: share"), static_cast<double>(hits) / static_cast<double>(cases));
        EXPECT_NEAR(value("PRON attends to its head: weight"), weight / static_cast<double>(cases), 1e-12);
        EXPECT_EQ(std::ssize(query.cases(0, head)), cases);
    }
    EXPECT_THROW(WordIndex::read(Arrays()), Error);
}

TEST(WordQuery, TheShareOfARelationsArcsIsThatOfTheRelationTable) {
    const WordIndex index = treebank_index();
    const WordQuery query("obj attends to its head >= 0 %", index);
    const std::vector<HeadId> heads = query.heads();
    const std::vector<Interval> shares = query.shares(0, heads);
    for (const RelationRow& row : relation_table(index, {.all_heads = true, .bootstrap = {}}).rows) {
        if (row.relation != "obj" || row.direction != ArcDirection::to_head) continue;
        const auto at = static_cast<std::size_t>(std::ranges::find(heads, row.head) - heads.begin());
        EXPECT_EQ(query.conditions()[0].cases, row.n);
        EXPECT_EQ(shares.at(at).mean, row.accuracy.mean);
        EXPECT_EQ(shares.at(at).low, row.accuracy.low) << "the same sentences are drawn";
        EXPECT_EQ(shares.at(at).high, row.accuracy.high);
        EXPECT_EQ(query.conditions()[0].offset, row.offset);
        EXPECT_EQ(query.conditions()[0].offset_share, row.baseline);
    }
}

// Sentences are run again: every weight is that of the pattern, also where the index holds none.
TEST(WordQuery, ExactWeightsAreThoseOfThePatterns) {
    const test::TempFolder folder;
    const Runs& runs = treebank_runs();
    RunSetup setup = run_setup(folder / "store", treebank_file(), {"words"}, {runs.model(), runs.tokenizer()});
    setup.texts.limit = 12;
    run_store(setup);
    const auto stored = read_store(setup.store);
    const WordIndex index = WordIndex::read(stored->merged.arrays);
    TextStore texts(setup.store, stored->manifest);
    const HeadId head{Layer(2), Head(1)};
    const WordQuery query("word attends to NOUN > 1 %", index);
    ExactWeights exact(texts, setup.model, setup.tokenizer, head);
    std::int64_t unknown = 0, compared = 0;
    for (WordQuery::Case one : query.cases(0, head)) {
        const WordQuery::Case before = one;
        const std::vector<std::int32_t> targets = query.targets(0, one);
        exact.complete(one, targets);
        const trace::Trace& trace = runs.trace(one.text);
        const at::Tensor pattern = trace::pattern_rows(trace, head.layer, head.head, 0, trace.tokens()).contiguous();
        const Text& text = texts.text(one.text);
        std::vector<double> attention;
        word_attention(floats_of(pattern), trace.tokens(), word_tokens(text, trace.encoding()), attention);
        const auto weight = [&](std::int32_t to) {
            return attention[static_cast<std::size_t>(one.word) * text.words.size() + static_cast<std::size_t>(to)];
        };
        EXPECT_NEAR(one.weight, weight(one.target), 1e-6);
        double largest = 0;
        for (const std::int32_t target : targets) largest = std::max(largest, weight(target));
        EXPECT_NEAR(one.weight, largest, 1e-6);
        EXPECT_LE(one.weight, before.at_most() + kWeightUnit);
        if (!std::isnan(before.weight)) {
            EXPECT_NEAR(one.weight, before.weight, kWeightUnit);
        }
        unknown += std::isnan(before.weight);
        ++compared;
    }
    EXPECT_GT(unknown, 20);
    EXPECT_GT(compared, unknown + 20);
    ExactWeights none(texts, setup.model, setup.tokenizer, {Layer(6), Head(0)});
    EXPECT_THROW(none.weight(0, 0, 0), Error);
}

}  // namespace word_query_test
}  // namespace headlight::corpus
