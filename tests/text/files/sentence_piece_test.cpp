// SPDX-License-Identifier: GPL-3.0-or-later
// spiece.model, tokenizer.model and the same vocabulary in a GGUF file against the sentencepiece package
// (tests/golden/make_sentencepiece_golden.py).
#include "headlight/base/error.h"
#include "headlight/io/hash.h"
#include "headlight/io/json_file.h"
#include "headlight/text/tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "tests/text/files/same_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace headlight::text {
namespace sentence_piece_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const fs::path kTests = HEADLIGHT_SOURCE_DIR "/tests";
const fs::path kFixtures = kTests / "fixtures/text";

const json& golden() {
    static const json root = io::read_json(kTests / "golden/text/sentence_piece.json");
    return root;
}

class SentencePieceFile : public testing::TestWithParam<const char*> {
protected:
    const std::shared_ptr<const Tokenizer> tokenizer = Tokenizer::load(kFixtures / GetParam());
    const std::string name = fs::path(GetParam()).stem().string();  ///< in the golden
    std::vector<std::int64_t> ids(const std::string& text) const { return tokenizer->encode(text, std::nullopt, false).ids; }
};

TEST_P(SentencePieceFile, CutsTheTortureTextsAsThePackageDoes) {
    // For GGUF files user-defined symbols are cut out before a space is prepended, as in llama.cpp.
    const bool cut_first = std::string_view(GetParam()).ends_with(".gguf");
    expect_same_ids(*tokenizer, golden().at("texts"), golden().at(name).at("ids"), cut_first ? "<tool>" : "");
}

TEST_P(SentencePieceFile, CutsTheBookAsThePackageDoes) {
    constexpr std::size_t kGroup = 16;
    std::istringstream digests(golden().at(name).at("book.txt").get<std::string>());
    std::istringstream book(io::read_text(kFixtures / "book.txt") + "\n");
    std::string bytes, expected;
    const auto put = [&](std::int64_t value) {
        for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift);
    };
    std::size_t lines = 0, wrong = 0;
    const auto close = [&] {
        ASSERT_TRUE(digests >> expected);
        wrong += io::sha256_hex(std::as_bytes(std::span(bytes))).substr(0, 8) != expected;
        bytes.clear();
    };
    for (std::string line; std::getline(book, line);) {
        const auto found = ids(line);
        put(static_cast<std::int64_t>(found.size()));
        for (const std::int64_t id : found) put(id);
        if (++lines % kGroup == 0) close();
    }
    if (lines % kGroup != 0) close();
    EXPECT_FALSE(digests >> expected) << "the golden has more lines";
    EXPECT_EQ(wrong, 0u) << "groups of lines differ";
}

TEST_P(SentencePieceFile, OffsetsCoverWhatWasTyped) {
    const std::string text = " Poirot’s  moustache, 42 – ﬁne ☃☃ ";
    const Encoding e = tokenizer->encode(text, std::nullopt, false);
    std::int64_t end = 0;
    for (const ByteRange r : e.offsets) {
        EXPECT_LE(r.begin, r.end);
        EXPECT_LE(r.end, static_cast<std::int64_t>(text.size()));
        EXPECT_GE(r.end, end);
        end = r.end;
    }
}

INSTANTIATE_TEST_SUITE_P(Text, SentencePieceFile, testing::Values("spiece-unigram", "spiece-bpe", "spiece-bpe.gguf"),
                         [](const auto& p) {
                             const std::string name = p.param;
                             return name == "spiece-bpe" ? "bpe" : name == "spiece-unigram" ? "unigram" : "bpe_in_gguf";
                         });

TEST(SentencePiece, WhatIsPutAroundATextIsTheModelsHabit) {
    const auto ends = [](const char* fixture, const std::string& config) {
        const test::TempFolder folder;
        for (const auto& file : fs::directory_iterator(kFixtures / fixture))
            fs::copy_file(file.path(), folder / file.path().filename().string());
        if (!config.empty()) folder.write("tokenizer_config.json", config);
        const auto t = Tokenizer::load(folder.path());
        const Encoding e = t->encode("a");
        return std::pair(e.tokens.front(), e.tokens.back());
    };
    EXPECT_EQ(ends("spiece-unigram", "").second, "</s>");
    EXPECT_EQ(ends("spiece-unigram", "{\"tokenizer_class\": \"T5Tokenizer\"}").second, "</s>");
    EXPECT_EQ(ends("spiece-bpe", "").first, "<s>");
    EXPECT_EQ(
        ends("spiece-bpe", "{\"tokenizer_class\": \"LlamaTokenizer\", \"add_bos_token\": false, \"add_eos_token\": true}").second,
        "</s>");
    EXPECT_NE(ends("spiece-bpe", "{\"tokenizer_class\": \"LlamaTokenizer\", \"add_bos_token\": false}").first, "<s>");
    EXPECT_THROW(ends("spiece-unigram", "{\"tokenizer_class\": \"NllbTokenizer\"}"), Error);
}

TEST(SentencePiece, T5sSentinelsComeBehindTheVocabulary) {
    const test::TempFolder folder;
    fs::copy_file(kFixtures / "spiece-unigram/spiece.model", folder / "spiece.model");
    const std::int64_t plain = Tokenizer::load(folder.path())->vocab_size();
    folder.write("tokenizer_config.json", "{\"tokenizer_class\": \"T5Tokenizer\", \"extra_ids\": 100}");
    const auto t = Tokenizer::load(folder.path());
    EXPECT_EQ(t->vocab_size(), plain + 100);
    EXPECT_EQ(t->id_of("<extra_id_99>"), plain);
    EXPECT_EQ(t->id_of("<extra_id_0>"), plain + 99);
    EXPECT_EQ(t->encode("a <extra_id_0> b").ids.size(), 4u);
}

TEST(SentencePiece, TwoModelsWithoutTheirVocabularyAreAnErrorThatSaysWhatIsMissing) {
    const test::TempFolder folder;
    folder.write("source.spm", "");
    folder.write("vocab.json", "{}");
    EXPECT_THAT(test::error_of([&] { Tokenizer::load(folder.path()); }),
                testing::AllOf(HasSubstr("target.spm"), HasSubstr("source.spm, target.spm and vocab.json")));
}

TEST(SentencePiece, DamagedFilesAreErrors) {
    const std::string whole = test::slurp(kFixtures / "spiece-bpe/tokenizer.model");
    const test::TempFolder folder;
    const auto opens = [&](const std::string& content) {
        return test::error_of([&] { Tokenizer::load(folder.write("tokenizer.model", content).parent_path()); }, "opened");
    };
    EXPECT_EQ(opens(whole), "opened");
    EXPECT_THAT(opens(whole.substr(0, 1000)), HasSubstr("tokenizer.model"));
    EXPECT_THAT(opens("hello, this is no model"), HasSubstr("Not a SentencePiece model"));
    EXPECT_THAT(opens(""), HasSubstr("tokenizer.model"));
    for (std::size_t at = 1; at < 120; ++at) EXPECT_NE(opens(whole.substr(0, at)), "opened") << at;
    std::string flipped = whole;
    for (std::size_t at = 0; at < 20; ++at) {
        flipped[at] = static_cast<char>(flipped[at] ^ 0xff);
        opens(flipped);  // an error or another vocabulary, never a crash
        flipped[at] = whole[at];
    }
}

}  // namespace sentence_piece_test
}  // namespace headlight::text
