// SPDX-License-Identifier: GPL-3.0-or-later
// Treebanks: every field as the package `conllu` reads it, words by their bytes, and files that are refused with their line.
#include "headlight/corpus/reading/conllu.h"

#include "tests/corpus/fixtures.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/hostile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace headlight::corpus {
namespace conllu_test {

using testing::ElementsAre;
using testing::HasSubstr;

ConlluReader reader_of(const std::string& text) {
    auto stream = std::make_shared<std::istringstream>(text);
    return ConlluReader([stream](std::string& line) { return static_cast<bool>(std::getline(*stream, line)); }, "t.conllu");
}

/// "id form head relation": the other columns are _, but MISC where there is a fifth word.
std::string rows(const std::string& lines) {
    std::istringstream in(lines);
    std::string out;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line.front() == '#') {
            out += line + "\n";
            continue;
        }
        std::istringstream words(line);
        std::string id, form, head, relation, misc = "_";
        words >> id >> form >> head >> relation >> misc;
        out += id + "\t" + form + "\t_\tX\t_\t_\t" + head + "\t" + relation + "\t_\t" + (misc.empty() ? "_" : misc) + "\n";
    }
    return out + "\n";
}

std::vector<std::string> pieces(const Text& text) {
    std::vector<std::string> out;
    for (const Word& word : text.words)
        out.push_back(text.text.substr(static_cast<std::size_t>(word.begin), static_cast<std::size_t>(word.end - word.begin)));
    return out;
}

TEST(Conllu, ReadsWhatThePackageReads) {
    const nlohmann::json golden = golden_json("corpus/conllu.json");
    const std::vector<Text> texts = read_conllu(treebank_file());
    ASSERT_EQ(texts.size(), golden.size());
    for (std::size_t s = 0; s < texts.size(); ++s) {
        const Text& text = texts[s];
        SCOPED_TRACE(text.id);
        EXPECT_EQ(golden[s]["id"], text.id);
        EXPECT_EQ(golden[s]["text"], text.text);
        ASSERT_EQ(text.words.size(), golden[s]["forms"].size());
        for (std::size_t w = 0; w < text.words.size(); ++w) {
            const Word& word = text.words[w];
            EXPECT_EQ(golden[s]["forms"][w], word.form);
            EXPECT_EQ(golden[s]["upos"][w], word.upos);
            EXPECT_EQ(golden[s]["xpos"][w], word.xpos);
            EXPECT_EQ(word.head, golden[s]["heads"][w].get<int>());
            EXPECT_EQ(golden[s]["relations"][w], word.relation);
            EXPECT_EQ(word.begin, golden[s]["spans"][w][0].get<int>());
            EXPECT_EQ(word.end, golden[s]["spans"][w][1].get<int>());
            EXPECT_FALSE(word.shares_span);
            nlohmann::json enhanced = nlohmann::json::array();
            for (const EnhancedArc& arc : word.enhanced) enhanced.push_back({arc.head, arc.relation});
            EXPECT_EQ(enhanced, golden[s]["enhanced"][w]);
        }
    }
    EXPECT_EQ(texts.front().document, "weblog-blogspot.com_nominations_20041117172713_ENG_20041117_172713");
}

TEST(Conllu, CountsWhatItFinds) {
    ConlluReader reader(treebank_file());
    for (Text text; reader.next(text);) {
    }
    EXPECT_EQ(reader.counts().sentences, 51);
    EXPECT_EQ(reader.counts().words, 897);
    EXPECT_EQ(reader.counts().multiword, 25);
    EXPECT_EQ(reader.counts().empty_nodes, 4);
    EXPECT_EQ(reader.counts().shared + reader.counts().rebuilt + reader.counts().malformed, 0);
}

TEST(Conllu, TheTextWithoutItsCommentIsTheSame) {
    std::ifstream in(treebank_file());
    std::ostringstream stripped;
    for (std::string line; std::getline(in, line);)
        if (!line.starts_with("# text =")) stripped << line << "\r\n";
    ConlluReader reader = reader_of("\xEF\xBB\xBF" + stripped.str());
    for (const Text& text : read_conllu(treebank_file())) {
        Text rebuilt;
        ASSERT_TRUE(reader.next(rebuilt));
        EXPECT_EQ(rebuilt.text, text.text) << text.id;
        EXPECT_EQ(pieces(rebuilt), pieces(text));
    }
    EXPECT_EQ(reader.counts().rebuilt, 51);
}

TEST(Conllu, WordsOfAMultiwordTokenHaveTheirBytesOrShareThem) {
    ConlluReader reader =
        reader_of(rows("# text = Vamos al caf\xC3\xA9, don't!\n"
                       "1 Vamos 0 root\n2-3 al _ _\n2 a 4 case\n3 el 4 det\n4 caf\xC3\xA9 1 obl SpaceAfter=No\n"
                       "5 , 7 punct\n6-7 don't _ _ SpaceAfter=No\n6 do 1 aux\n7 n't 1 advmod\n7.1 go _ _\n"
                       "8 ! 1 punct"));
    Text text;
    ASSERT_TRUE(reader.next(text));
    EXPECT_THAT(pieces(text), ElementsAre("Vamos", "al", "al", "caf\xC3\xA9", ",", "do", "n't", "!"));
    EXPECT_TRUE(text.words[1].shares_span && text.words[2].shares_span);
    EXPECT_FALSE(text.words[5].shares_span);
    EXPECT_EQ(reader.counts().shared, 1);
    EXPECT_EQ(reader.counts().empty_nodes, 1);
    EXPECT_EQ(text.id, "t.conllu:1");
    EXPECT_EQ(text.document, "t.conllu");
}

TEST(Conllu, WhiteSpaceOfAFormMayDifferFromTheText) {
    ConlluReader reader = reader_of(
        "# text = 20\xC2\xA0"
        "000 \xF0\x9F\x98\x80  e\xCC\x81.\n"
        "1\t20 000\t_\tNUM\t_\t_\t0\troot\t_\t_\n"
        "2\t\xF0\x9F\x98\x80\t_\tSYM\t_\t_\t1\tdep\t_\t_\n"
        "3\te\xCC\x81\t_\tX\t_\t_\t1\tdep\t_\tX=1|SpaceAfter=No\n"
        "4\t.\t_\t_\t_\t_\t1\tpunct\t_\t_");
    Text text;
    ASSERT_TRUE(reader.next(text));
    EXPECT_THAT(pieces(text), ElementsAre("20\xC2\xA0"
                                          "000",
                                          "\xF0\x9F\x98\x80", "e\xCC\x81", "."));
    EXPECT_EQ(text.words[3].upos, "");
}

TEST(Conllu, BrokenTreesAreReportedAndKept) {
    ConlluReader reader = reader_of(rows("1 a 2 dep\n2 b 1 dep\n3 c 0 root") + rows("1 a 0 root\n2 b 0 root") +
                                    rows("1 a 1 dep") + rows("1 a 0 root\n2 b 1 dep") + rows("1 a _ _\n2 b _ _"));
    std::vector<Text> texts;
    std::vector<std::string> notes;
    for (Text text; reader.next(text);) {
        texts.push_back(text);
        for (const TextNote& note : text.notes)
            if (!note.what.starts_with("no # text")) notes.push_back(note.place + ": " + note.what);
    }
    ASSERT_EQ(texts.size(), 5u);
    EXPECT_THAT(notes, ElementsAre("t.conllu:1: arcs in a circle: the arcs count as they are",
                                   "t.conllu:5: 2 roots: the arcs count as they are",
                                   "t.conllu:8: arcs in a circle: the arcs count as they are"));
    EXPECT_EQ(reader.counts().malformed, 3);
    EXPECT_EQ(texts[0].words[0].head, 1);
    EXPECT_EQ(texts[4].words[0].head, -1);
}

const test::Hostile kHostile[] = {
    {"nine columns", "1\ta\t_\tX\t_\t_\t0\troot\t_\n\n", "does not have ten columns", "line 1", "found 9"},
    {"eleven columns", "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\t_\n\n", "does not have ten columns", "line 1", "found 11"},
    {"spaces for tabs", "# text = a\n1 a _ X _ _ 0 root _ _\n\n", "does not have ten columns", "line 2", "found 1"},
    {"empty column", "1\t\t_\tX\t_\t_\t0\troot\t_\t_\n\n", "Column 2 of a word is empty", "line 1"},
    {"id is no number", rows("a a 0 root"), "The id of a word", "line 1", "found a"},
    {"id 0", rows("0 a 0 root"), "The id of a word", "line 1", "expected 1, found 0"},
    {"id is skipped", rows("1 a 0 root\n3 b 1 dep"), "The id of a word", "line 2", "expected 2, found 3"},
    {"id twice", rows("1 a 0 root\n1 b 1 dep"), "The id of a word", "line 2", "expected 2, found 1"},
    {"id beyond 32 bits", rows("99999999999999999999 a 0 root"), "The id of a word", "line 1"},
    {"negative id", rows("-1 a 0 root"), "multiword token", "line 1", "found -1"},
    {"range backwards", rows("2-1 ab _ _\n1 a 0 root\n2 b 1 dep"), "multiword token", "line 1"},
    {"range too late", rows("1 a 0 root\n1-2 ab _ _\n2 b 1 dep"), "multiword token", "line 2", "expected 2-"},
    {"ranges overlap", rows("1-3 abc _ _\n1 a 0 root\n2-3 bc _ _\n2 b 1 dep\n3 c 1 dep"), "multiword token", "line 3"},
    {"range goes on behind the end", rows("1-3 ab _ _\n1 a 0 root\n2 b 1 dep"), "ends after the last word", "line 4", "found 3"},
    {"range without words", rows("1-2 ab _ _"), "not followed by a sentence", "line 2"},
    {"half a range", rows("1- a _ _"), "multiword token", "line 1"},
    {"empty node elsewhere", rows("1 a 0 root\n3.1 b _ _"), "empty node", "line 2", "expected 1.1"},
    {"empty node 0", rows("1 a 0 root\n1.0 b _ _"), "empty node", "line 2"},
    {"head beyond the sentence", rows("1 a 0 root\n2 b 7 dep"), "HEAD is not a word", "line 2", "found 7"},
    {"negative head", rows("1 a -1 root"), "HEAD is not a number", "line 1", "found -1"},
    {"head is a word", rows("1 a root root"), "HEAD is not a number", "line 1", "found root"},
    {"head with a blank", "1\ta\t_\tX\t_\t_\t0 \troot\t_\t_\n\n", "HEAD is not a number", "line 1"},
    {"another form", rows("# text = a c\n1 a 0 root\n2 b 1 dep"), "not in its place", "line 3", "found \"c\""},
    {"text is too short", rows("# text = a\n1 a 0 root\n2 b 1 dep"), "not in its place", "line 3", "the end of the text"},
    {"text goes on", rows("# text = a b\n1 a 0 root"), "continues after the last word", "line 1", "found b"},
    {"text is cut inside a character", rows("# text = \xC3\n1 a 0 root"), "not UTF-8", "line 1", "byte 10"},
    {"form is not UTF-8", rows("1 \xFF 0 root"), "not UTF-8", "line 1"},
    {"comment inside", rows("1 a 0 root\n# text = a\n2 b 1 dep"), "A comment stands inside", "line 2"},
    {"comments alone", "# text = a\n\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n", "not followed by a sentence", "line 2"},
    {"DEPS without a relation", "1\ta\t_\tX\t_\t_\t0\troot\t0\t_\n\n", "DEPS is not a list", "line 1", "found 0"},
    {"DEPS with an empty relation", "1\ta\t_\tX\t_\t_\t0\troot\t0:\t_\n\n", "DEPS is not a list", "line 1", "found 0:"},
    {"DEPS with a word", "1\ta\t_\tX\t_\t_\t0\troot\t0:root|b:dep\t_\n\n", "DEPS is not a list", "line 1"},
    {"DEPS beyond the sentence", "1\ta\t_\tX\t_\t_\t0\troot\t2:dep\t_\n\n", "head in DEPS is not a word", "line 1", "found 2"},
    {"an HTML page", "<!DOCTYPE html>\n<html>\n", "does not have ten columns", "line 1", "found 1"},
};

class HostileConllu : public testing::TestWithParam<test::Hostile> {};
TEST_P(HostileConllu, IsRefusedWithItsLine) {
    test::expect_refused(GetParam(), "hostile.conllu", [](const std::filesystem::path& file) { read_conllu(file); });
}
INSTANTIATE_TEST_SUITE_P(Files, HostileConllu, testing::ValuesIn(kHostile));

TEST(Conllu, DamagedFilesAreRefusedOrReadWithWordsInTheirText) {
    const std::string sound = test::slurp(treebank_file()).substr(0, 4000);
    test::Mutator damage;
    int accepted = 0, refused = 0;
    for (int round = 0; round < 3000; ++round) {
        ConlluReader reader = reader_of(damage(sound));
        try {
            for (Text text; reader.next(text); ++accepted) {
                std::int64_t end = 0;
                for (const Word& word : text.words) {
                    ASSERT_LE(word.shares_span ? word.begin : end, word.begin) << round;
                    ASSERT_LE(word.begin, word.end) << round;
                    ASSERT_LT(word.head, std::ssize(text.words)) << round;
                    for (const EnhancedArc& arc : word.enhanced) ASSERT_LT(arc.head, std::ssize(text.words)) << round;
                    end = word.end;
                }
                ASSERT_LE(end, std::ssize(text.text)) << round;
            }
        } catch (const Error&) {
            ++refused;
        }
    }
    EXPECT_GT(accepted, 3000);
    EXPECT_GT(refused, 1000);
}

/// Each in a time that grows with its words alone: with the square of 200,000 this would take minutes.
TEST(Conllu, ALongChainOfHeadsIsATreeAndALongCircleIsNot) {
    std::vector<Word> words(200'000);
    for (std::size_t i = 0; i < words.size(); ++i) words[i].head = static_cast<std::int32_t>(i) - 1;
    EXPECT_EQ(tree_problem(words), "");
    for (std::size_t i = 0; i < words.size(); ++i) words[i].head = i + 1 < words.size() ? static_cast<std::int32_t>(i) + 1 : -1;
    EXPECT_EQ(tree_problem(words), "");
    words.back().head = 100'000;
    EXPECT_EQ(tree_problem(words), "arcs in a circle");
    for (Word& word : words) word.head = -1, word.relation = "root";
    EXPECT_EQ(tree_problem(words), "200000 roots");
}

TEST(Conllu, EmptyFilesAreEmptyAndMissingOnesAreNot) {
    const test::TempFolder folder;
    EXPECT_TRUE(read_conllu(folder.write("a", "")).empty());
    EXPECT_TRUE(read_conllu(folder.write("b", "\n \r\n\n")).empty());
    EXPECT_THROW(read_conllu(folder / "c"), Error);
    EXPECT_THROW(read_conllu(folder.path()), Error);
}

}  // namespace conllu_test
}  // namespace headlight::corpus
