// SPDX-License-Identifier: GPL-3.0-or-later
// headlight corpus syntax, pos, alignment and query over the treebank of the tests. The numbers are checked in tests/corpus.
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace headlight {
namespace corpus_syntax_test {

using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A store of the treebank, made once.
const std::string& store() {
    static const TempFolder folder;
    static const std::string* const path = [] {
        auto* made = new std::string((folder / "store").string());
        const std::string treebank = test::fixture("treebank/ewt-excerpt.conllu");
        done(headlight({"corpus", "run", "novella-7m", "--texts", treebank, "--measure", "heads,words,tags", "--out", *made}));
        return made;
    }();
    return *path;
}

std::int64_t lines(const std::string& text) { return std::ranges::count(text, '\n'); }

TEST(CorpusSyntax, OneRowARelationAndDirectionOrAHead) {
    const Outcome best = headlight({"corpus", "syntax", store(), "--draws", "50"}),
                  all = headlight({"corpus", "syntax", store(), "--draws", "50", "--all"});
    ASSERT_EQ(best.code, 0) << best.err;
    EXPECT_THAT(best.out,
                StartsWith("relation,direction,layer,head,accuracy,low,high,n,arcs,coverage,baseline,baseline_offset,"));
    EXPECT_THAT(best.out, HasSubstr("\n\"obj\",\"dependent-to-head\",5,0,0.775,"));
    EXPECT_THAT(best.out, HasSubstr("\n\"det\",\"dependent-to-head\",,,,,,0,77,0,"));
    EXPECT_GT(lines(all.out), 20 * lines(best.out));
}

TEST(CorpusSyntax, WritesATableForLatex) {
    const TempFolder folder;
    const std::string tex = folder / "t.tex", json = folder / "t.json";
    done(headlight({"corpus", "syntax", store(), "--draws", "20", "--latex", tex, "--out", json}));
    EXPECT_THAT(test::slurp(tex), HasSubstr("\\begin{tabular}"));
    EXPECT_THAT(test::slurp(tex), HasSubstr("det & to dependent & L0H1 & 62.3 ["));
    EXPECT_THAT(test::slurp(json), HasSubstr("\"sentences\":51"));
}

/// Four of the first six sentences have more than 16 tokens.
TEST(CorpusSyntax, CountsTheSentencesThatNoChunkHolds) {
    const TempFolder folder;
    const std::string cut = folder / "cut", treebank = test::fixture("treebank/ewt-excerpt.conllu");
    done(headlight({"corpus", "run", "novella-7m", "--texts", treebank, "--limit", "6", "--context", "16", "--measure",
                    "words,tags", "--out", cut}));
    EXPECT_THAT(headlight({"corpus", "syntax", cut, "--draws", "10"}).err,
                HasSubstr("4 sentences are not whole in any chunk and left out"));
    EXPECT_THAT(headlight({"corpus", "pos", cut, "--draws", "10"}).err,
                HasSubstr("4 texts are longer than --context and left out"));
}

TEST(CorpusPos, SharesHaveTheirBase) {
    const Outcome one = headlight({"corpus", "pos", store()}), pairs = headlight({"corpus", "pos", store(), "--pairs"});
    ASSERT_EQ(one.code, 0) << one.err;
    EXPECT_THAT(one.out, StartsWith("layer,head,from,to,share,low,high,base,ratio,rows\n0,0,\"all\",\"ADJ\","));
    EXPECT_THAT(one.out, HasSubstr("\n0,0,\"NOUN\",\"all\","));
    EXPECT_THAT(pairs.out, HasSubstr("\n5,7,\"NOUN\",\"first\","));
    EXPECT_THAT(pairs.out, Not(HasSubstr("\"all\"")));
}

TEST(CorpusAlignment, HasARowAHead) {
    const Outcome outcome = done(headlight({"corpus", "alignment", store()}));
    EXPECT_THAT(outcome.out,
                StartsWith("layer,head,alignment,low,high,base,ratio,distance_off_first,distance_low,distance_high\n0,0,0."));
    EXPECT_EQ(lines(outcome.out), 49);
}

TEST(CorpusRender, AViewOfATextTakesMeasuresAndWordsOfTheStore) {
    const TempFolder folder;
    const std::string csv = folder / "heads.csv";
    const std::vector<std::string> base = {"render", "novella-7m",  "--text", "The doctor asked the nurse.",
                                           "--view", "head-scatter"};
    const auto with = [&](const std::vector<std::string>& more) { return headlight(joined(base, more)); };
    done(with({"--x", "corpus_entropy", "--corpus", store(), "--out", csv}));
    const Outcome means = headlight({"corpus", "heads", store(), "--draws", "1"});
    const std::string row = "\n\"entropy\",5,3,";
    const auto at = means.out.find(row);
    ASSERT_NE(at, std::string::npos);
    const std::string mean = means.out.substr(at + row.size(), means.out.find(',', at + row.size()) - at - row.size());
    EXPECT_THAT(test::slurp(csv), HasSubstr("corpus_entropy"));
    EXPECT_THAT(test::slurp(csv), HasSubstr("\n5,3," + mean + ","));
    const std::string svg = folder / "heads.svg";
    done(with({"--corpus", store(), "--where", "obj attends to its head > 60 % and corpus entropy < 2", "--out", svg}));
    EXPECT_THAT(test::slurp(svg), HasSubstr("--corpus " + store()));
    EXPECT_THAT(with({"--x", "corpus_entropy", "--out", csv}).err, HasSubstr("none is in use"));
    EXPECT_THAT(with({"--x", "corpus_entrpy", "--corpus", store(), "--out", csv}).err, HasSubstr("corpus_entrpy"));
    EXPECT_THAT(with({"--where", "obj attends to its head > 60 %", "--out", csv}).err, HasSubstr("needs a treebank"));
    const std::string tiny = test::fixture("models/gpt2");
    EXPECT_THAT(headlight({"render", tiny, "--text", "a", "--view", "head-scatter", "--corpus", store(), "--out", csv}).err,
                HasSubstr("The corpus was run with another model"));
}

TEST(CorpusQuery, GivesHeadsOrExamples) {
    const Outcome heads = done(headlight({"corpus", "query", store(), "heads where obj attends to its head > 60 %"}));
    EXPECT_THAT(heads.out, StartsWith("layer,head,obj attends to its head: share,"));
    EXPECT_THAT(heads.out, HasSubstr("share baseline,obj attends to its head: weight\n5,0,0.775,0.62"));
    EXPECT_THAT(heads.err, HasSubstr("obj attends to its head: 40 cases in "));
    EXPECT_THAT(heads.err, HasSubstr(" have one 1 word before"));
    const Outcome examples = done(headlight({"corpus", "query", store(), "obj attends to its head > 60 %", "--examples", "3"}));
    EXPECT_THAT(examples.out, StartsWith("kind,layer,head,sentence,weight,"));
    EXPECT_THAT(examples.out, HasSubstr("\n\"hit\",5,0,\"weblog-"));
    EXPECT_THAT(examples.out, HasSubstr("\n\"miss\",5,0,"));
    const std::vector<std::string> misses = {"corpus", "query", store(), "word attends to NOUN > 1 %", "--examples", "3"};
    EXPECT_THAT(headlight(misses).out, testing::ContainsRegex("\n\"miss\",[0-9],[0-9],\"[^\"]*\",,"))
        << "weights that are not held";
    const Outcome known = done(headlight(joined(misses, {"--model", "novella-7m"})));
    EXPECT_THAT(known.out, testing::ContainsRegex("\n\"miss\",[0-9],[0-9],\"[^\"]*\",0[.][0-9]+,"));
    EXPECT_THAT(known.out, Not(testing::ContainsRegex("\n\"miss\",[0-9],[0-9],\"[^\"]*\",,")));
    EXPECT_EQ(headlight({"corpus", "query", store(), "obj attends to its head > 60 %", "--model", "novella-7m"}).code, 2);
}

TEST(CorpusQuery, MistakesNameTheirColumn) {
    refused(headlight({"corpus", "query", store(), "obj attends to its hed > 60 %"}), 1, HasSubstr("column 20"));
    const Outcome none = done(headlight({"corpus", "query", store(), "obj attends to its head > 99 %"}));
    EXPECT_THAT(none.err, HasSubstr("no head matches: the largest obj attends to its head: share is "));
    EXPECT_EQ(headlight({"corpus", "query", store(), "layer = 1", "--examples", "3"}).code, 2);
}

TEST(CorpusSyntax, AStoreWithoutWordsSaysSo) {
    const TempFolder folder;
    const std::string plain = folder / "store", texts = folder.write("t.txt", "The cat sat.\nThe dog sat.\n");
    done(headlight({"corpus", "run", "novella-7m", "--texts", texts, "--out", plain, "--measure", "heads"}));
    for (const char* command : {"syntax", "pos", "alignment"}) {
        refused(headlight({"corpus", command, plain}), 1, HasSubstr("lacks the requested data"));
    }
}

}  // namespace corpus_syntax_test
}  // namespace headlight
