// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::text {
namespace labels_test {

using testing::ElementsAre;

std::shared_ptr<const Tokenizer> load(const std::string& folder) {
    return Tokenizer::load(std::string(HEADLIGHT_SOURCE_DIR) + "/" + folder);
}

std::vector<std::string> texts(const std::vector<TokenLabel>& labels) {
    std::vector<std::string> out;
    for (const TokenLabel& l : labels) out.push_back(l.continuation + l.text);
    return out;
}

TEST(Labels, WhiteSpaceIsVisible) {
    const auto t = load("models/novella-7m");
    const auto labels = token_labels(*t, t->encode("The nurse\n\tran"));
    EXPECT_THAT(texts(labels), ElementsAre("<s>", "The", "·nurse", "⏎", "⇥", "r", "an"));
    EXPECT_TRUE(labels[0].special);
    EXPECT_FALSE(labels[1].special);
}

TEST(Labels, BytesOfOneCharacterAreJoined) {
    const auto t = load("models/novella-7m");
    const Encoding e = t->encode("a😀b");
    ASSERT_EQ(e.size(), 7);  // <s> a, four bytes, b
    const auto labels = token_labels(*t, e);
    EXPECT_THAT(texts(labels), ElementsAre("<s>", "a", "😀", "⋯", "⋯", "⋯", "b"));
    for (std::size_t i = 2; i < 6; ++i) {
        EXPECT_EQ(labels[i].join_first, 2);
        EXPECT_EQ(labels[i].join_count, 4);
    }
    EXPECT_EQ(labels[6].join_first, 6);
    EXPECT_EQ(labels[6].join_count, 1);
}

TEST(Labels, ATokenThatEndsOneCharacterAndBeginsTheNextJoinsBoth) {
    const auto t = load("models/novella-7m");
    // The vocabulary has "âĢ", the first two bytes of many signs; the third byte follows alone.
    const Encoding e = t->encode("\u2020\u2021");
    const auto labels = token_labels(*t, e);
    std::string all;
    for (const auto& l : labels) {
        if (!l.special && l.text != "⋯") all += l.text;
    }
    EXPECT_EQ(all, "†‡");
}

TEST(Labels, AByteAloneIsShownAsItsValue) {
    const auto t = load("models/novella-7m");
    Encoding e = t->encode("😀", std::nullopt, false);
    ASSERT_EQ(e.size(), 4);
    Encoding cut;
    cut.append(e);
    for (auto* v : {&cut.ids, &cut.type_ids, &cut.words, &cut.sequence}) v->pop_back();
    EXPECT_THAT(texts(token_labels(*t, cut)), ElementsAre("<0xF0>", "<0x9F>", "<0x98>"));
    EXPECT_EQ(token_label(*t, e.ids[0]), "<0xF0>");
}

TEST(Labels, CombiningMarksAndInvisibleCharactersCanBeSeen) {
    const auto t = load("tests/fixtures/text/gpt2-files");
    EXPECT_THAT(texts(token_labels(*t, t->encode("e\u0301"))), ElementsAre("e", "◌\u0301", "⋯"));
    EXPECT_THAT(texts(token_labels(*t, t->encode("\u200b"))), ElementsAre("‹ZWSP›", "⋯"));
}

TEST(Labels, ALeadingSpaceIsADotInEveryTokenizer) {
    const auto t = load("tests/fixtures/text/spiece-bpe");
    const auto labels = token_labels(*t, t->encode("the cat"));
    ASSERT_GE(labels.size(), 3u);
    EXPECT_EQ(labels[1].continuation, "");
    EXPECT_EQ(labels[1].text.substr(0, 2), "·");
}

TEST(Labels, MarksStayWithTheirWord) {
    const auto t = load("models/novella-7m");
    const std::string hindi = "नमस्ते दुनिया";
    const Encoding e = t->encode(hindi, std::nullopt, false);
    const auto count = [&](const std::vector<std::int64_t>& words) {
        std::size_t changes = 1;
        for (std::size_t i = 1; i < words.size(); ++i) changes += words[i] != words[i - 1];
        return changes;
    };
    EXPECT_GT(count(e.words), 2u) << "the pre-tokenizer cuts at marks";
    EXPECT_EQ(count(whole_words(e, hindi, {})), 2u);
    const std::string english = "I can't, she said: well-known. Cafe\u0301s too";
    const Encoding plain = t->encode(english, std::nullopt, false);
    const auto whole = whole_words(plain, english, {});
    EXPECT_EQ(count(plain.words) - count(whole), 2u) << "only the accent joins what stands around it";
}

TEST(Labels, WordPieceContinuationsStandApart) {
    const auto t = load("tests/fixtures/text/wordpiece");
    const auto labels = token_labels(*t, t->encode("Hastingsing"));
    ASSERT_GE(labels.size(), 4u);
    EXPECT_EQ(labels[0].text, "[CLS]");
    EXPECT_EQ(labels[1].text, "hastings");
    EXPECT_EQ(labels[1].continuation, "");
    EXPECT_EQ(labels[2].text, "ing");
    EXPECT_EQ(labels[2].continuation, "##");
    EXPECT_EQ(token_label(*t, *t->id_of("##ing")), "##ing");
}

TEST(Labels, NoEntryOfAVocabularyIsEmpty) {
    for (const char* folder : {"models/novella-7m", "tests/fixtures/text/wordpiece", "tests/fixtures/text/llama3"}) {
        const auto t = load(folder);
        for (std::int64_t id = -1; id <= t->vocab_size(); ++id) EXPECT_NE(token_label(*t, id), "") << folder << " " << id;
    }
}

}  // namespace labels_test
}  // namespace headlight::text
