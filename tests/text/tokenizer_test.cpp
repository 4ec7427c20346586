// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/tokenizer.h"
#include "headlight/base/error.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace headlight::text {
namespace tokenizer_test {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Tokenizer> novella() {
    static const auto t = Tokenizer::load(HEADLIGHT_SOURCE_DIR "/models/novella-7m");
    return t;
}

std::vector<std::string> typed_parts(const std::string& text, const Encoding& e) {
    std::vector<std::string> parts;
    for (const ByteRange r : e.offsets) {
        parts.push_back(text.substr(static_cast<std::size_t>(r.begin), static_cast<std::size_t>(r.end - r.begin)));
    }
    return parts;
}

TEST(Tokenizer, OffsetsPointIntoTheTextAsTypedThoughQuotesAreReplaced) {
    const std::string text = "The doctor’s “tea”.";
    const Encoding e = novella()->encode(text);
    EXPECT_EQ(e.tokens[0], "<s>");
    EXPECT_TRUE(e.special[0]);
    const auto parts = typed_parts(text, e);
    EXPECT_THAT(parts, ElementsAre("", "The", " doctor", "’s", " “", "te", "a", "”", "."));
    EXPECT_EQ(e.tokens[3], "'s");
}

TEST(Tokenizer, PairHasTypeIdsAndItsOwnOffsetsAndWords) {
    const Encoding e = novella()->encode("The nurse", "was late.");
    EXPECT_THAT(e.tokens, ElementsAre("<s>", "The", "Ġnurse", "was", "Ġlate", "."));
    EXPECT_THAT(e.type_ids, ElementsAre(0, 0, 0, 1, 1, 1));
    EXPECT_THAT(e.sequence, ElementsAre(-1, 0, 0, 1, 1, 1));
    EXPECT_THAT(e.words, ElementsAre(-1, 0, 1, 0, 1, 2));
    EXPECT_EQ(e.offsets[3], (ByteRange{0, 3}));
    EXPECT_EQ(e.pair_start(), 3);
}

TEST(Tokenizer, ThePartOfSentenceBBeginsWhereTypesOrSeparatorsSaySo) {
    const auto start = [](const std::string& name) {
        const Encoding e = Tokenizer::load(HEADLIGHT_SOURCE_DIR "/tests/fixtures/text/" + name)->encode("the", "the");
        return std::pair(e.tokens, e.pair_start());
    };
    EXPECT_THAT(start("wordpiece"), testing::Pair(ElementsAre("[CLS]", "the", "[SEP]", "the", "[SEP]"), 3));
    EXPECT_THAT(start("llama3"), testing::Pair(ElementsAre("<|begin_of_text|>", "the", "<|begin_of_text|>", "the"), 2));
    EXPECT_THAT(start("roberta-files"), testing::Pair(ElementsAre("<s>", "Ġthe", "</s>", "</s>", "Ġthe", "</s>"), 3));
    EXPECT_EQ(novella()->encode("a").pair_start(), 2);
    EXPECT_EQ(novella()->encode("", "b").pair_start(), 1);
}

TEST(Tokenizer, SpecialTokensCanBeLeftOutAndTypedOnesAreRecognised) {
    EXPECT_THAT(novella()->encode("late", std::nullopt, false).tokens, ElementsAre("l", "ate"));
    const Encoding typed = novella()->encode("a</s>b");
    EXPECT_THAT(typed.tokens, ElementsAre("<s>", "a", "</s>", "b"));
    EXPECT_THAT(typed.special, ElementsAre(true, false, false, false));
}

TEST(Tokenizer, InvalidUtf8NamesTheByte) {
    for (const auto& [text, where] : {std::pair<std::string, std::string>{"ab\xED\xA0\x80", "0xED at offset 2"},
                                      {"\xC0\xAF", "0xC0 at offset 0"},
                                      {"ok \xE2\x82", "0xE2 at offset 3"},
                                      {"\xF4\x90\x80\x80", "0xF4 at offset 0"},
                                      {"12345678901\x80", "0x80 at offset 11"}}) {
        EXPECT_THAT(test::error_of([&] { novella()->encode(text); }), HasSubstr(where));
    }
}

TEST(Tokenizer, EmptyTextHasOnlyTheTemplate) {
    EXPECT_THAT(novella()->encode("").ids, ElementsAre(1));
    EXPECT_EQ(novella()->encode("", std::nullopt, false).size(), 0);
}

TEST(Tokenizer, VocabularyLookups) {
    const auto& t = *novella();
    EXPECT_EQ(t.vocab_size(), 8192);
    EXPECT_EQ(t.id_of("<pad>"), 3);
    EXPECT_EQ(t.id_of("No such token"), std::nullopt);
    EXPECT_EQ(t.token_of(8192), "");
    EXPECT_EQ(t.token_of(-1), "");
    EXPECT_TRUE(t.is_special(1));
    EXPECT_FALSE(t.is_special(300));
    EXPECT_EQ(t.bytes_of(*t.id_of("Ġthe")), " the");
    EXPECT_EQ(t.mask_id(), std::nullopt);
    EXPECT_EQ(t.description(), "byte-level BPE, 8192 entries");
}

TEST(Tokenizer, IdsGetWhatATemplateAdds) {
    const auto bert = Tokenizer::load(HEADLIGHT_SOURCE_DIR "/tests/fixtures/text/wordpiece");
    const Encoding typed = bert->encode("the the");
    const Encoding e = bert->encode_ids({typed.ids[1], typed.ids[2]});
    EXPECT_EQ(e.ids, typed.ids);
    EXPECT_EQ(e.tokens, typed.tokens);
    EXPECT_EQ(e.special, typed.special);
    EXPECT_EQ(e.type_ids, typed.type_ids);
    EXPECT_THAT(e.words, ElementsAre(-1, 0, 1, -1));
    EXPECT_THAT(e.offsets, testing::Each(ByteRange{0, 0}));
    EXPECT_THAT(bert->encode_ids({typed.ids[1]}, false).ids, ElementsAre(typed.ids[1]));
    EXPECT_EQ(novella()->encode_ids({300, 301}).ids.size(), 3U) << "<s>";
    for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{8192}, std::int64_t{1} << 40}) {
        try {
            novella()->encode_ids({300, wrong});
            FAIL() << wrong;
        } catch (const Error& error) {
            EXPECT_EQ(error.facts().item, "token 1");
            EXPECT_EQ(error.facts().found, std::to_string(wrong));
        }
    }
}

TEST(Punctuation, PeriodsAndCommasAreClarksAndTheRestIsCountedApart) {
    const Encoding e = novella()->encode("Wait, he said; \u201cnow!\u201d.");
    const Punctuation marks = punctuation(*novella(), e);
    std::string clark, any;
    for (std::size_t i = 0; i < e.ids.size(); ++i) {
        if (marks.period_or_comma[i]) clark += novella()->bytes_of(e.ids[i]);
        if (marks.any[i]) any += novella()->bytes_of(e.ids[i]) + "|";
    }
    EXPECT_EQ(clark.substr(0, 1), ",");
    EXPECT_THAT(any, testing::StartsWith(",|;|"));
    EXPECT_THAT(any, HasSubstr("!"));
    EXPECT_FALSE(marks.any[0]) << "<s>";
    const auto bert = Tokenizer::load(HEADLIGHT_SOURCE_DIR "/tests/fixtures/text/wordpiece");
    const Encoding framed = bert->encode(".");
    EXPECT_EQ(punctuation(*bert, framed).any, (std::vector<bool>{false, true, false})) << "[SEP] is no punctuation";
}

TEST(Tokenizer, ThreadsAgree) {
    const std::string text = "It was a dark night; the old doctor’s carriage came late, and nobody knew why.";
    const Encoding expected = novella()->encode(text);
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (std::size_t n = 0; n < 4; ++n) {
        threads.emplace_back([&, n] {
            for (int i = 0; i < 300; ++i) wrong[n] += novella()->encode(text + std::string(n, '!')).ids[5] != expected.ids[5];
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_THAT(wrong, testing::Each(0));
}

}  // namespace tokenizer_test
}  // namespace headlight::text
