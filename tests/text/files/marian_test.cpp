// SPDX-License-Identifier: GPL-3.0-or-later
// Marian's tokenizer: two SentencePiece models numbered by one vocabulary (tests/golden/make_marian_golden.py).
#include "headlight/io/json_file.h"
#include "headlight/text/tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::text {
namespace marian_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

const fs::path kTests = HEADLIGHT_SOURCE_DIR "/tests";

const json& golden() {
    static const json root = io::read_json(kTests / "golden/text/marian.json");
    return root;
}

void fill(const test::TempFolder& folder, const json& vocab) {
    for (const auto& [side, file] : {std::pair("source", "source.spm"), std::pair("target", "target.spm")})
        fs::copy_file(kTests / "fixtures/text" / golden().at(side).get<std::string>() / "spiece.model", folder / file);
    folder.write("vocab.json", vocab.dump());
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "MarianTokenizer"})");
}

TEST(Marian, SourceAndTargetHaveTheIdsOfTransformers) {
    const test::TempFolder folder;
    fill(folder, golden().at("vocab"));
    const auto tokenizer = Tokenizer::load(folder.path());
    EXPECT_EQ(tokenizer->vocab_size(), static_cast<std::int64_t>(golden().at("vocab").size()));
    const auto texts = golden().at("texts").get<std::vector<std::string>>();
    ASSERT_GT(texts.size(), 200u);
    int differ = 0, sides = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const Ids source = tokenizer->encode(texts[i]).ids, target = tokenizer->encode("", texts[i], false).ids;
        const Ids wanted = golden().at("source_ids")[i].get<Ids>(), other = golden().at("target_ids")[i].get<Ids>();
        if ((source != wanted || target != other) && ++differ <= 5)
            ADD_FAILURE() << testing::PrintToString(texts[i]) << ": " << testing::PrintToString(source) << " and "
                          << testing::PrintToString(target) << ", not " << testing::PrintToString(wanted) << " and "
                          << testing::PrintToString(other);
        Ids without_end = wanted;
        without_end.pop_back();
        sides += without_end != other;
    }
    EXPECT_EQ(differ, 0) << "texts differ";
    EXPECT_GT(sides, 50) << "the two models cut alike: proves nothing";
}

TEST(Marian, LanguageCodesAreTokens) {
    const test::TempFolder folder;
    fill(folder, golden().at("vocab"));
    const auto tokenizer = Tokenizer::load(folder.path());
    ASSERT_FALSE(golden().at("coded").empty());
    for (const auto& [text, ids] : golden().at("coded").items()) EXPECT_EQ(tokenizer->encode(text).ids, ids.get<Ids>()) << text;
}

TEST(Marian, ATextAloneIsCutAsASource) {
    const test::TempFolder folder;
    fill(folder, golden().at("vocab"));
    const auto tokenizer = Tokenizer::load(folder.path());
    const auto text = golden().at("texts").back().get<std::string>();
    const Encoding both = tokenizer->encode(text, text);
    Ids wanted = golden().at("source_ids").back().get<Ids>();
    const Ids target = golden().at("target_ids").back().get<Ids>();
    wanted.pop_back();
    wanted.insert(wanted.end(), target.begin(), target.end());
    wanted.push_back(golden().at("vocab").at("</s>").get<std::int64_t>());
    EXPECT_EQ(both.ids, wanted);
}

TEST(Marian, TwoVocabulariesAreRefusedByName) {
    const test::TempFolder folder;
    fill(folder, golden().at("vocab"));
    folder.write("target_vocab.json", golden().at("vocab").dump());
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "MarianTokenizer", "separate_vocabs": true})");
    EXPECT_THAT(test::error_of([&] { Tokenizer::load(folder.path()); }), HasSubstr("separate_vocabs"));
    // As in transformers the file alone, without the field, changes nothing.
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "MarianTokenizer"})");
    EXPECT_NO_THROW(Tokenizer::load(folder.path()));
}

TEST(Marian, VocabulariesThatDoNotFitAreErrors) {
    const auto complaint = [](const json& vocab) {
        const test::TempFolder folder;
        fill(folder, vocab);
        return test::error_of([&] { Tokenizer::load(folder.path()); });
    };
    json gap = golden().at("vocab"), twice = gap, without = gap;
    gap["</s>"] = 100000;
    EXPECT_THAT(complaint(gap), HasSubstr("vocab.json: </s>"));
    twice["<pad>"] = 0;
    EXPECT_THAT(complaint(twice), HasSubstr("0, 1, 2"));
    without.erase("<pad>");  // the last id
    EXPECT_THAT(complaint(without), HasSubstr("<pad>"));
    EXPECT_THAT(complaint(json::array()), HasSubstr("vocab.json"));
}

}  // namespace marian_test
}  // namespace headlight::text
