// SPDX-License-Identifier: GPL-3.0-or-later
// Files with mentions: what is read from each format, and where mistakes are.
#include "headlight/corpus/coreference/mention_files.h"

#include "headlight/corpus/reading/read_texts.h"
#include "headlight/corpus/store/text_store.h"
#include "tests/corpus/fixtures.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace headlight::corpus {
namespace mention_files_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Text> read(MentionFormat format, const std::string& content, const std::string& file = "f") {
    auto in = std::make_shared<std::istringstream>(content);
    const auto reader = MentionReader::make(
        format, [in](std::string& line) { return static_cast<bool>(std::getline(*in, line)); }, file);
    std::vector<Text> texts;
    for (Text text; reader->next(text);) texts.push_back(text);
    return texts;
}

/// "chain:mention/head"
std::vector<std::string> mentions_of(const Text& text) {
    std::vector<std::string> out;
    const auto part = [&](std::int64_t begin, std::int64_t end) {
        return text.text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    };
    for (const Mention& m : text.mentions)
        out.push_back(m.chain + ":" + part(m.begin, m.end) + "/" + part(m.head_begin, m.head_end));
    return out;
}

std::string mistake(MentionFormat format, const std::string& content) {
    return error_of([&] { read(format, content); });
}

std::string row(const std::string& id, const std::string& form, const std::string& head, const std::string& misc) {
    return id + "\t" + form + "\t_\tX\t_\t_\t" + head + "\tdep\t_\t" + misc + "\n";
}

const std::string kFields = "# global.Entity = eid-etype-head-other\n";

TEST(CoreferenceFiles, CorefUdHasNestedCrossingAndDiscontinuousMentionsOverSentences) {
    const std::string content = "\xEF\xBB\xBF# newdoc id = d1\n" + kFields + "# sent_id = 1\n# text = The old king's son left\n" +
                                row("1", "The", "3", "Entity=(e2-person-4-(e1-person--") + row("2", "old", "3", "_") +
                                row("3", "king", "5", "SpaceAfter=No") + row("4", "'s", "3", "Entity=e1)") +
                                row("5", "son", "6", "Entity=e2)(e9&#45;x-abstract-1-)") +
                                row("6", "left", "0", "Entity=(e5[1/2]-event-2-)") + "\n# sent_id = 2\n# text = he fell there\n" +
                                row("1", "he", "2", "Entity=(e2-person-1-)(e7-event-") +
                                row("2", "fell", "0", "Entity=(e5[2/2]-event-2-)") + row("3", "there", "2", "Entity=e7)") +
                                "\n# newdoc id = d2\n# text = He\n" + row("1", "He", "0", "Entity=(e1-person-1-)") + "\n";
    std::string crlf;
    for (const char c : content) crlf += c == '\n' ? "\r\n" : std::string(1, c);
    for (const std::string& each : {content, crlf}) {
        const std::vector<Text> texts = read(MentionFormat::corefud, each);
        ASSERT_EQ(texts.size(), 2u);
        EXPECT_EQ(texts[0].id, "d1");
        EXPECT_EQ(texts[0].text, "The old king's son left he fell there");
        // e2's head is its fourth word; e1's is the word whose HEAD leaves it; the second part of e5 holds its head.
        EXPECT_THAT(mentions_of(texts[0]), ElementsAre("e1:The old king's/king", "e2:The old king's son/'s", "e9-x:son/son",
                                                       "e2:he/he", "e5:left he fell/fell", "e7:he fell there/fell"));
        ASSERT_FALSE(texts[0].words.empty());
        EXPECT_EQ(texts[0].words.front().sentence, 0);
        EXPECT_EQ(texts[0].words.back().sentence, 1);
        for (const Word& word : texts[0].words)
            EXPECT_EQ(texts[0].text.substr(static_cast<std::size_t>(word.begin), static_cast<std::size_t>(word.end - word.begin)),
                      word.form)
                << "in the document";
        EXPECT_THAT(mentions_of(texts[1]), ElementsAre("e1:He/He")) << "chains are of their document";
    }
}

TEST(CoreferenceFiles, CorefUdAMentionOfEmptyNodesAloneIsLeftOutAndNoted) {
    const std::vector<Text> texts =
        read(MentionFormat::corefud, kFields + "# text = go\n" + row("1", "go", "0", "Entity=(e1-x-1-)") +
                                         row("1.1", "_", "_", "Entity=(e2-x-1-)") + "\n");
    EXPECT_THAT(mentions_of(texts.at(0)), ElementsAre("e1:go/go"));
    ASSERT_FALSE(texts[0].notes.empty());
    EXPECT_THAT(texts[0].notes.back().what, HasSubstr("empty nodes alone"));
}

TEST(CoreferenceFiles, CorefUdMistakesNameLineAndValue) {
    const auto one = [](const std::string& misc) {
        return mistake(MentionFormat::corefud, kFields + "# text = go\n" + row("1", "go", "0", misc) + "\n");
    };
    EXPECT_THAT(one("Entity=(e1-x-1"), testing::AllOf(HasSubstr("line 3"), HasSubstr("open at the end"), HasSubstr("e1")));
    EXPECT_THAT(one("Entity=e1)"), testing::AllOf(HasSubstr("line 3"), HasSubstr("not open")));
    EXPECT_THAT(one("Entity=(e1-x-two-)"), HasSubstr("two"));
    EXPECT_THAT(one("Entity=(e1-x-2-)"), HasSubstr("behind its end"));
    EXPECT_THAT(one("Entity=(e1[2/2]-x-1-)"), HasSubstr("has not begun"));
    EXPECT_THAT(one("Entity=e1"), HasSubstr("without brackets"));
    EXPECT_THAT(mistake(MentionFormat::corefud, "# text = go\n" + row("1", "go", "0", "Entity=(e1-x)") + "\n"),
                HasSubstr("global.Entity"));
}

std::string word_2012(int number, const std::string& form, const std::string& tag, const std::string& mentions) {
    return "bc/x 0 " + std::to_string(number) + "   " + form + "  " + tag + " * - - - * " + mentions + "\n";
}

TEST(CoreferenceFiles, Conll2012TakesTheHeadOfTheNounPhrase) {
    const std::string begin = "#begin document (bc/x); part 001\n";
    const std::string body = word_2012(0, "The", "DT", "(3|(12") + word_2012(1, "head", "NN", "-") +
                             word_2012(2, "of", "IN", "-") + word_2012(3, "state", "NN", "3)|12)") + "\n" +
                             word_2012(0, "he", "PRP", "(3)") + word_2012(1, "/.", ".", "-");
    const std::vector<Text> texts = read(MentionFormat::conll2012, begin + body + "#end document\n");
    ASSERT_EQ(texts.size(), 1u);
    EXPECT_EQ(texts[0].id, "bc/x part 001");
    EXPECT_EQ(texts[0].text, "The head of state he .");
    EXPECT_THAT(mentions_of(texts[0]), ElementsAre("12:The head of state/head", "3:The head of state/head", "3:he/he"));
    EXPECT_THAT(mistake(MentionFormat::conll2012, begin + body), HasSubstr("does not end"));
    EXPECT_THAT(mistake(MentionFormat::conll2012, body), HasSubstr("line 1"));
    EXPECT_THAT(mistake(MentionFormat::conll2012, begin + word_2012(0, "he", "PRP", "(x)") + "#end document\n"),
                testing::AllOf(HasSubstr("line 2"), HasSubstr("(x)")));
    EXPECT_THAT(mistake(MentionFormat::conll2012, begin + word_2012(0, "he", "PRP", "3)") + "#end document\n"),
                HasSubstr("not open"));
    EXPECT_THAT(mistake(MentionFormat::conll2012, begin + "he 3\n#end document\n"), HasSubstr("too few columns"));
}

const std::string kGapHeader = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n";

TEST(CoreferenceFiles, GapCountsCharacters) {
    const std::vector<Text> texts =
        read(MentionFormat::gap,
             kGapHeader +
                 "dev-1\tZo\xC3\xAB met \xC3\x89va and she sang\tshe\t16\t\xC3\x89va\t8\tTRUE\tZo\xC3\xAB\t0\tFALSE\thttp://x\n" +
                 "dev-2\t\"He said \"\"no\"\" to Al and Bo\"\tHe\t0\tAl\t16\tfalse\tBo\t23\tfalse\tu\r\n");
    ASSERT_EQ(texts.size(), 2u);
    EXPECT_EQ(texts[0].task, MentionTask::gap);
    // The name that stands first comes first, whichever column it is in.
    EXPECT_THAT(mentions_of(texts[0]),
                ElementsAre("pronoun:she/she", "B:Zo\xC3\xAB/Zo\xC3\xAB", "pronoun:\xC3\x89va/\xC3\x89va"));
    EXPECT_EQ(texts[1].text, "He said \"no\" to Al and Bo");
    EXPECT_THAT(mentions_of(texts[1]), ElementsAre("pronoun:He/He", "A:Al/Al", "B:Bo/Bo"));
    EXPECT_THAT(mistake(MentionFormat::gap, kGapHeader + "d\tAl met Bo\tshe\t9\tAl\t0\tTRUE\tBo\t7\tFALSE\tu\n"),
                testing::AllOf(HasSubstr("line 2"), HasSubstr("she")));
    EXPECT_THAT(mistake(MentionFormat::gap, kGapHeader + "d\tx\n"), HasSubstr("eleven columns"));
    EXPECT_THAT(mistake(MentionFormat::gap, kGapHeader + "d\tAl he Bo\the\t3\tAl\t0\tyes\tBo\t6\tFALSE\tu\n"), HasSubstr("yes"));
    EXPECT_THAT(mistake(MentionFormat::gap, "id\n"), HasSubstr("header"));
}

TEST(CoreferenceFiles, WinobiasFindsThePersonThatIsNotMarked) {
    const std::string line = "1 [The developer] argued with the designer because [he] did not like the design.\n";
    const std::vector<Text> pro = read(MentionFormat::winobias, line, "pro_stereotyped_type1.txt.dev"),
                            anti =
                                read(MentionFormat::winobias, "2 The CEO paid [the construction worker] because [she] worked.\n",
                                     "x/anti_stereotyped_type1.txt.dev");
    EXPECT_EQ(pro.at(0).text, "The developer argued with the designer because he did not like the design.");
    EXPECT_THAT(mentions_of(pro[0]),
                ElementsAre("pronoun:he/he", "pronoun:The developer/The developer", "other:the designer/the designer"));
    EXPECT_EQ(pro[0].task, MentionTask::winobias_pro);
    EXPECT_EQ(pro[0].pair, "stereotyped_type1.txt.dev:1");
    EXPECT_EQ(anti.at(0).task, MentionTask::winobias_anti);
    EXPECT_EQ(anti[0].pair, "x/stereotyped_type1.txt.dev:1");
    EXPECT_THAT(mentions_of(anti[0]), ElementsAre("pronoun:she/she", "other:The CEO/The CEO",
                                                  "pronoun:the construction worker/the construction worker"));
    // As some lines of the published files: two pronouns of one person, and a space inside the brackets.
    const std::vector<Text> odd =
        read(MentionFormat::winobias, "3 The nurse met [ physician] because [he] wanted [his] book.\n", "pro_stereotyped.txt");
    EXPECT_THAT(mentions_of(odd.at(0)), ElementsAre("pronoun:he/he", "other:The nurse/The nurse", "pronoun:physician/physician"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 [The cook] left.\n"), HasSubstr("no pronoun"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 [The cook], [the nurse] and [the clerk] met and [he] left.\n"),
                HasSubstr("one person or two"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 [The cook] met the smith and [he] left.\n"), HasSubstr("other person"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "[The cook] left [he].\n"), HasSubstr("its number"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 [The [cook] left [he].\n"), HasSubstr("do not match"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 \n"), HasSubstr("one person"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 [ ] met the cook and [he] left.\n"), HasSubstr("empty"));
}

/// Whoever writes sentences of their own marks both persons: braces, or the second of two square brackets, are the other one.
TEST(CoreferenceFiles, BothPersonsOfALineMayBeMarked) {
    const auto of = [](const char* line) {
        return mentions_of(read(MentionFormat::winobias, std::string("1 ") + line + "\n", "pro_stereotyped.txt").at(0));
    };
    EXPECT_THAT(of("[The doctor] asked {the old barista} whether [he] was late."),
                ElementsAre("pronoun:he/he", "pronoun:The doctor/The doctor", "other:the old barista/the old barista"));
    EXPECT_THAT(of("{The doctor} asked [the nurse] whether [she] was late."),
                ElementsAre("pronoun:she/she", "other:The doctor/The doctor", "pronoun:the nurse/the nurse"));
    EXPECT_THAT(of("[The doctor] asked [ the barista ] whether [he] was late."),
                ElementsAre("pronoun:he/he", "pronoun:The doctor/The doctor", "other:the barista/the barista"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 {The cook} met {the nurse} and [he] left.\n"), HasSubstr("nobody"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 [The cook} met the nurse and [he] left.\n"), HasSubstr("do not match"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 [The cook] met { } and [he] left.\n"), HasSubstr("empty"));
    EXPECT_THAT(mistake(MentionFormat::winobias, "1 [The cook] met the smith and [he] left.\n"), HasSubstr("{the nurse}"));
}

TEST(CoreferenceFiles, AreRecognisedAndKeptInAStore) {
    const test::TempFolder folder;
    const auto write = [&](const char* name, const std::string& content) {
        std::ofstream(folder / name, std::ios::binary) << content;
    };
    write("a.conllu", kFields + "# text = go\n" + row("1", "go", "0", "Entity=(e1-x-1-)") + "\n");
    write("b.conllu", "# text = go\n" + row("1", "go", "0", "_") + "\n");
    write("c.v4_gold_conll", "#begin document (x)\n" + word_2012(0, "he", "PRP", "(3)") + "#end document\n");
    write("d.tsv", kGapHeader + "d\tAl met Bo\tBo\t7\tAl\t0\tFALSE\tBo\t7\tTRUE\tu\n");
    write("pro_stereotyped.txt.dev", "1 [The cook] told the nurse that [he] left.\n");
    std::vector<Text> texts;
    read_texts(folder.path(), {}, [&](Text&& text) { return texts.push_back(std::move(text)), true; }, {});
    ASSERT_EQ(texts.size(), 5u);
    TextPart part;
    for (const Text& text : texts) part.texts.push_back(text);
    const TextPart again = part_of(arrays_of(part), "store");
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_EQ(mentions_of(again.texts[i]), mentions_of(texts[i]));
        EXPECT_EQ(again.texts[i].task, texts[i].task);
        EXPECT_EQ(again.texts[i].pair, texts[i].pair);
        EXPECT_EQ(texts[i].mentions.empty(), i == 1) << texts[i].id;
        EXPECT_EQ(texts[i].words.empty(), i > 1) << texts[i].id;
        if (i == 1) continue;
        // Other annotations are other texts for the results of a block.
        Text other = texts[i];
        other.mentions.front().chain += "x";
        EXPECT_NE(chunk_hash({}, texts[i]), chunk_hash({}, other));
    }
    part.texts[0].mentions[0].end = 1000;
    EXPECT_THROW(part_of(arrays_of(part), "store"), Error);
}

/// A file of a few megabytes must not ask for as many gigabytes.
TEST(CoreferenceFiles, MentionsInOneAnotherAreNoBomb) {
    std::string opened, closed;
    constexpr int kDeep = 10'000;
    for (int n = 0; n < kDeep; ++n) {
        opened += word_2012(n, "a", "NN", "(" + std::to_string(n));
        closed += word_2012(n, "a", "NN", std::to_string(n) + ")");
    }
    EXPECT_THAT(mistake(MentionFormat::conll2012, "#begin document (x)\n" + opened + closed + "#end document\n"),
                testing::AllOf(HasSubstr("too many words"), HasSubstr("line ")));
}

/// A sound file of each format.
const std::vector<std::pair<MentionFormat, std::string>>& sound_files() {
    static const std::vector<std::pair<MentionFormat, std::string>> files{
        {MentionFormat::corefud, "# newdoc id = d1\n" + kFields + "# text = The king's son left\n" +
                                     row("1", "The", "3", "Entity=(e2-person-4-(e1-person--") +
                                     row("2", "king", "4", "SpaceAfter=No") + row("3", "'s", "2", "Entity=e1)") +
                                     row("4", "son", "5", "Entity=e2)") + row("4.1", "x", "_", "Entity=(e9&#45;x-abstract-1-)") +
                                     row("5", "left", "0", "Entity=(e5[1/2]-event-2-)") + "\n# text = he fell\n" +
                                     row("1", "he", "2", "Entity=(e2-person-1-)") +
                                     row("2", "fell", "0", "Entity=(e5[2/2]-event-2-)") + "\n"},
        {MentionFormat::conll2012, "#begin document (bc/x); part 000\n" + word_2012(0, "The", "DT", "(12|(3") +
                                       word_2012(1, "king", "NN", "3)") + "\n" + word_2012(2, "he", "PRP", "12)|(4)") +
                                       "#end document\n"},
        {MentionFormat::gap, kGapHeader + "d\tAl met Bo\tBo\t7\tAl\t0\tFALSE\tBo\t7\tTRUE\tu\n" +
                                 "e\t\"\xC3\x89l \"\"met\"\" Bo\"\tBo\t9\t\xC3\x89l\t0\tFALSE\tBo\t9\tTRUE\tu\n"},
        {MentionFormat::winobias,
         "1 [The cook] told the nurse that [he] left.\n2 The nurse met [ physician] as [she] had [her] book.\n"
         "3 {The smith} saw [the cook] as [he] left.\n"}};
    return files;
}

/// Anything but texts whose mentions lie in them, or an Error with the line, is a fault of the reader.
void expect_sound_or_refused(MentionFormat format, const std::string& content) {
    try {
        for (const Text& text : read(format, content))
            for (const Mention& m : text.mentions) {
                const std::int64_t size = std::ssize(text.text);
                ASSERT_TRUE(0 <= m.begin && m.begin <= m.end && m.end <= size) << content;
                ASSERT_TRUE(0 <= m.head_begin && m.head_begin <= m.head_end && m.head_end <= size) << content;
            }
    } catch (const Error& error) {
        EXPECT_THAT(error.facts().item, HasSubstr("line ")) << content << error.what();
    } catch (const std::exception& error) {
        ADD_FAILURE() << error.what() << " of " << enum_word(format) << ":\n" << content;
    }
}

TEST(CoreferenceFiles, DamagedFilesAreRefusedWithTheirLineOrReadWithMentionsInTheirText) {
    for (const auto& [format, sound] : sound_files()) {
        SCOPED_TRACE(std::string(enum_word(format)));
        EXPECT_FALSE(read(format, sound).empty());
        test::Mutator damage;
        for (int round = 0; round < 3000; ++round) expect_sound_or_refused(format, damage(sound));
    }
}

/// Every line cut at every byte, alone in its place: "1 " was one of them.
TEST(CoreferenceFiles, LinesMayEndAnywhere) {
    for (const auto& [format, sound] : sound_files()) {
        SCOPED_TRACE(std::string(enum_word(format)));
        for (std::size_t begin = 0; begin < sound.size(); begin = sound.find('\n', begin) + 1)
            for (std::size_t at = begin, end = sound.find('\n', begin); at < end; ++at)
                for (const char* more : {"", " ", "\t", "|", "(", ")", "[", "]"})
                    expect_sound_or_refused(format, sound.substr(0, at) + more + sound.substr(end));
    }
}

}  // namespace mention_files_test
}  // namespace headlight::corpus
