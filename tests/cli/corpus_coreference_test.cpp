// SPDX-License-Identifier: GPL-3.0-or-later
// headlight corpus coref over hand-made files of mentions. The decisions of heads are checked in tests/corpus.
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace headlight {
namespace corpus_coreference_test {

using test::done;
using test::headlight;
using test::lines_of;
using test::Outcome;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

using Row = std::map<std::string, std::string>;

std::string write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return path;
}

/// A sentence of words with their chains, each mention one word; without a chain a word is no mention.
std::string sentence(const std::vector<std::pair<std::string, std::string>>& words) {
    std::string text, rows;
    for (std::size_t w = 0; w < words.size(); ++w) {
        const auto& [form, chain] = words[w];
        text += (w ? " " : "") + form;
        rows += std::to_string(w + 1) + "\t" + form + "\t_\tX\t_\t_\t" + (w == 0 ? "0" : "1") + "\tdep\t_\t" +
                (chain.empty() ? "_" : "Entity=(" + chain + "-x-1-)") + "\n";
    }
    return "# text = " + text + "\n" + rows + "\n";
}

std::string corefud() {
    const auto begin = [](const std::string& id) { return "# newdoc id = " + id + "\n"; };
    return begin("first") + "# global.Entity = eid-etype-head-other\n" + sentence({{"Anna", "e1"}, {"met", ""}, {"Bea", "e2"}}) +
           sentence({{"He", "e3"}, {"saw", ""}, {"her", "e2"}}) + begin("second") +
           sentence({{"Anna", "e1"}, {"met", ""}, {"Bea", "e2"}}) + sentence({{"Anna", "e1"}, {"smiled", ""}}) +
           sentence({{"She", "e1"}, {"left", ""}}) + begin("third") + sentence({{"Anna", "e1"}, {"sang", ""}}) +
           sentence({{"Anna", "e1"}, {"slept", ""}}) + sentence({{"She", "e1"}, {"woke", ""}}) + begin("fourth") +
           sentence({{"Rain", "e1"}, {"fell", ""}});
}

/// The rows of one score, each by the names of its columns.
std::vector<Row> rows_of(const std::string& csv, const std::string& score) {
    const auto lines = test::csv_rows(csv);
    std::vector<Row> rows;
    for (std::size_t l = 1; l < lines.size(); ++l) {
        Row row;
        for (std::size_t c = 0; c < lines[0].size(); ++c) row[lines[0][c]] = lines[l].at(c);
        if (row["score"] == score) rows.push_back(row);
    }
    return rows;
}

Outcome run(const std::string& texts, const std::string& store, const std::string& measure = "mentions") {
    return done(headlight({"corpus", "run", "novella-7m", "--texts", texts, "--measure", measure, "--out", store}));
}

/// The best head's hits among its examples, all of which are asked for, are its accuracy.
void expect_the_examples_to_make_the_accuracy(const std::string& store, const std::string& score, const std::vector<Row>& rows) {
    const Outcome examples = done(headlight({"corpus", "coref", store, "--examples", "100"}));
    double hits = 0, misses = 0;
    for (const std::string& line : lines_of(examples.out)) {
        hits += line.starts_with("\"" + score + "\",\"hit\",");
        misses += line.starts_with("\"" + score + "\",\"miss\",");
    }
    int best = 0;
    for (Row row : rows) {
        if (row["best"] != "1") continue;
        ++best;
        EXPECT_EQ(hits + misses, std::stod(row["n"]));
        EXPECT_NEAR(hits / (hits + misses), std::stod(row["accuracy"]), 1e-5);
    }
    EXPECT_EQ(best, 1) << score;
}

TEST(CorpusCoreference, ChainsOfACorefUdFile) {
    const TempFolder folder;
    const std::string store = folder / "store";
    run(write(folder / "a.conllu", corefud()), store);
    const Outcome outcome = done(headlight({"corpus", "coref", store, "--draws", "50"}));
    EXPECT_THAT(outcome.out,
                StartsWith("score,layer,head,accuracy,low,high,n,cases,coverage,nearest_mention,head_match,"
                           "first_name,best,selection,selection_n,held_out,held_out_low,held_out_high,held_out_n\n"));
    EXPECT_THAT(outcome.err, HasSubstr("Mentions of chains: 4 texts, 5 cases"));
    const std::vector<Row> rows = rows_of(outcome.out, "chains");
    ASSERT_EQ(rows.size(), 48u) << "a row for each head";
    // Cases and whether the nearest mention and the nearest with the same word are right: first: her (no, none);
    // second: Anna (no, yes), She (yes, none); third: Anna (yes, yes), She (yes, none).
    for (Row row : rows) {
        EXPECT_EQ(row["n"], "5");
        EXPECT_EQ(row["cases"], "5");
        EXPECT_EQ(row["coverage"], "1");
        EXPECT_EQ(row["nearest_mention"], "0.6");
        EXPECT_EQ(row["head_match"], "0.4");
        EXPECT_EQ(row["first_name"], "");
        EXPECT_EQ(std::stoi(row["selection_n"]) + std::stoi(row["held_out_n"]), 5);
        EXPECT_EQ(row["low"] + row["high"], "") << "three texts are too few for an interval";
        // Only Anna has been named before the second Anna and She of the third: a head that attends to her is right.
        EXPECT_GE(std::stod(row["accuracy"]), 0.4);
    }
    expect_the_examples_to_make_the_accuracy(store, "chains", rows);
}

TEST(CorpusCoreference, GapAsksACausalModelWhereBothNamesStandBeforeThePronoun) {
    const TempFolder folder;
    const std::string store = folder / "store";
    const std::string file = write(folder / "gap.tsv",
                                   "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
                                   "1\tAnna met Bea and she sang\tshe\t17\tAnna\t0\tFALSE\tBea\t9\tTRUE\tu\n"
                                   "2\tAnna told Bea that she was tired\tshe\t19\tAnna\t0\tTRUE\tBea\t10\tFALSE\tu\n"
                                   "3\tAnna told Bea that she had won\tshe\t19\tAnna\t0\tTRUE\tBea\t10\tFALSE\tu\n"
                                   "4\tShe ran when Anna saw Bea\tShe\t0\tAnna\t13\tTRUE\tBea\t22\tFALSE\tu\n"
                                   "5\tAnna told Bea that she was gone\tshe\t19\tAnna\t0\tFALSE\tBea\t10\tFALSE\tu\n");
    run(file, store);
    const Outcome outcome = done(headlight({"corpus", "coref", store, "--draws", "50"}));
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("GAP: 5 texts, 4 cases, of which 1 has a name after the pronoun"),
                                   HasSubstr("1 pronoun refers to neither name and is left out")));
    const std::vector<Row> rows = rows_of(outcome.out, "gap");
    ASSERT_EQ(rows.size(), 48u);
    for (Row row : rows) {
        EXPECT_EQ(row["n"], "3");
        EXPECT_EQ(row["cases"], "4");
        EXPECT_EQ(row["coverage"], "0.75");
        EXPECT_NEAR(std::stod(row["nearest_mention"]), 1.0 / 3, 1e-5);
        EXPECT_NEAR(std::stod(row["first_name"]), 2.0 / 3, 1e-5);
        EXPECT_EQ(row["head_match"], "");
    }
    expect_the_examples_to_make_the_accuracy(store, "gap", rows);
}

TEST(CorpusCoreference, WinobiasComparesFilesOfOneFolder) {
    const TempFolder folder;
    const std::string store = folder / "store";
    const std::string files = folder / "files";
    std::filesystem::create_directory(files);
    write(files + "/pro_stereotyped_type1.txt",
          "1 [The developer] argued with the designer because [he] did not like the design.\n"
          "2 The developer argued with [the designer] because [she] drew too slowly.\n"
          "3 [The mechanic] called the cashier because [he] was late.\n");
    write(files + "/anti_stereotyped_type1.txt",
          "1 [The developer] argued with the designer because [she] did not like the design.\n"
          "2 The developer argued with [the designer] because [he] drew too slowly.\n");
    run(files, store);
    const Outcome outcome = done(headlight({"corpus", "coref", store, "--draws", "50"}));
    const std::vector<Row> with = rows_of(outcome.out, "winobias-pro"), against = rows_of(outcome.out, "winobias-anti"),
                           difference = rows_of(outcome.out, "winobias-difference");
    ASSERT_EQ(with.size(), 48u);
    ASSERT_EQ(against.size(), 48u);
    ASSERT_EQ(difference.size(), 48u);
    for (std::size_t h = 0; h < 48; ++h) {
        Row a = with[h], b = against[h], c = difference[h];
        EXPECT_EQ(a["n"], "3");
        EXPECT_NEAR(std::stod(a["first_name"]), 2.0 / 3, 1e-5);
        EXPECT_NEAR(std::stod(a["nearest_mention"]), 1.0 / 3, 1e-5);
        EXPECT_EQ(b["n"], "2");
        EXPECT_EQ(b["first_name"], "0.5");
        EXPECT_EQ(b["nearest_mention"], "0.5");
        EXPECT_EQ(c["n"], "2") << "pairs; the third sentence has no other version";
        // The sentence alone adds 0 or 1 of 3 to the first, which the difference leaves out.
        const double hits = 3 * std::stod(a["accuracy"]), pairs = 2 * (std::stod(c["accuracy"]) + std::stod(b["accuracy"]));
        EXPECT_TRUE(std::abs(hits - pairs) < 1e-4 || std::abs(hits - pairs - 1) < 1e-4) << hits << " " << pairs;
    }
    expect_the_examples_to_make_the_accuracy(store, "winobias-pro", with);
}

TEST(CorpusCoreference, SyntaxSaysThatDocumentsHaveNoArcs) {
    const test::TempFolder folder;
    std::ofstream(folder / "bare.conllu")
        << "# global.Entity = eid-etype-head-other\n# newdoc id = d\n# sent_id = d-1\n# text = A dog "
           "barked .\n1\tA\t_\tDET\t_\t_\t_\t_\t_\tEntity=(e1-animal-2-\n2\tdog\t_\tNOUN\t_\t_\t"
           "_\t_\t_\tEntity=e1)\n3\tbarked\t_\tVERB\t_\t_\t_\t_\t_\t_\n4\t.\t_\tPUNCT\t_\t_\t_\t"
           "_\t_\t_\n\n";
    const std::string store = folder / "store";
    done(headlight({"corpus", "run", "novella-7m", "--texts", folder / "bare.conllu", "--out", store}));
    EXPECT_THAT(headlight({"corpus", "syntax", store}).err, HasSubstr("no word has a head and a relation"));
}

TEST(CorpusCoreference, RefusesAStoreWithoutMentions) {
    const TempFolder folder;
    const std::string store = folder / "store";
    const std::string texts = write(folder / "t.txt", "Anna sang.\nShe slept.\n");
    done(headlight({"corpus", "run", "novella-7m", "--texts", texts, "--measure", "heads", "--out", store}));
    const Outcome outcome = headlight({"corpus", "coref", store});
    EXPECT_NE(outcome.code, 0);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("The store lacks the requested data"), HasSubstr("mentions")));
}

}  // namespace corpus_coreference_test
}  // namespace headlight
