// SPDX-License-Identifier: GPL-3.0-or-later
// SentencePiece files of models that number the pieces in their own way (tests/golden/make_spiece_layout_golden.py).
#include "headlight/io/json_file.h"
#include "headlight/text/tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "tests/text/files/same_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::text {
namespace sentence_piece_layout_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using Ids = std::vector<std::int64_t>;

const fs::path kTests = HEADLIGHT_SOURCE_DIR "/tests";

const json& golden() {
    static const json root = io::read_json(kTests / "golden/text/spiece_layouts.json");
    return root;
}

std::shared_ptr<const Tokenizer> load(const std::string& fixture, const std::string& file, const json& config) {
    const test::TempFolder folder;
    fs::copy_file(kTests / "fixtures/text" / fixture / "spiece.model", folder / file);
    folder.write("tokenizer_config.json", config.dump());
    return Tokenizer::load(folder.path());
}

class SpieceLayout : public testing::TestWithParam<const char*> {
protected:
    const json& of = golden().at("kinds").at(GetParam());
    const std::shared_ptr<const Tokenizer> tokenizer = load(of.at("fixture"), of.at("file"), {{"tokenizer_class", GetParam()}});
};

TEST_P(SpieceLayout, IdsAreThoseOfTheModelsTokenizer) {
    EXPECT_EQ(tokenizer->vocab_size(), of.at("vocab_size").get<std::int64_t>());
    expect_same_ids(*tokenizer, golden().at("texts"), of.at("ids"));
}

TEST_P(SpieceLayout, MasksAndWhatStandsAroundATextAreThoseOfTransformers) {
    const auto whole = golden().at("whole").get<std::vector<std::string>>();
    std::size_t compared = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (of.at("whole")[i].is_null()) continue;  // transformers and SentencePiece disagree
        std::string text = whole[i];
        const auto mask = of.at("mask").get<std::string>();  // may have MASK in it
        for (std::size_t at = 0; (at = text.find("MASK", at)) != std::string::npos; at += mask.size()) text.replace(at, 4, mask);
        EXPECT_EQ(tokenizer->encode(text).ids, of.at("whole")[i].get<Ids>()) << text;
        ++compared;
    }
    EXPECT_GE(2 * compared, whole.size()) << "too few texts to prove anything";
    const auto pair = golden().at("pair").get<std::vector<std::string>>();
    const Encoding both = tokenizer->encode(pair[0], pair[1]);
    EXPECT_EQ(both.ids, of.at("pair").get<Ids>());
    EXPECT_EQ(both.type_ids, of.at("pair_types").get<Ids>());
}

INSTANTIATE_TEST_SUITE_P(Text, SpieceLayout,
                         testing::Values("XLMRobertaTokenizer", "CamembertTokenizer", "MBartTokenizer", "MBart50Tokenizer",
                                         "PegasusTokenizer", "DebertaV2Tokenizer"),
                         [](const auto& p) { return std::string(p.param); });

TEST(SpieceLayouts, TheLanguageOfMBartIsTheConfigured) {
    const auto t =
        load("spiece-fairseq", "sentencepiece.bpe.model", {{"tokenizer_class", "MBartTokenizer"}, {"src_lang", "ro_RO"}});
    EXPECT_EQ(t->encode("the old house").tokens.back(), "ro_RO");
}

TEST(SpieceLayouts, TheModelTypeSaysItWhereTheTokenizerDoesNot) {
    const test::TempFolder folder;
    fs::copy_file(kTests / "fixtures/text/spiece-fairseq/spiece.model", folder / "sentencepiece.bpe.model");
    folder.write("config.json", R"({"model_type": "xlm-roberta"})");
    EXPECT_EQ(Tokenizer::load(folder.path())->encode("the").ids, (Ids{0, 10, 2}));
}

TEST(SpieceLayouts, FilesThatDoNotFitAreErrors) {
    const auto failure = [](const std::string& fixture, const json& config) {
        return test::error_of([&] { load(fixture, "spiece.model", config); });
    };
    EXPECT_THAT(failure("spiece-deberta", {{"tokenizer_class", "NllbTokenizer"}}), HasSubstr("nllb"));
    EXPECT_THAT(failure("spiece-deberta", {{"tokenizer_class", "DebertaV2Tokenizer"}, {"split_by_punct", true}}),
                HasSubstr("split_by_punct"));
    EXPECT_THAT(failure("spiece-deberta", {{"tokenizer_class", "DebertaV2Tokenizer"}, {"cls_token", "[START]"}}),
                HasSubstr("[START]"));
}

}  // namespace sentence_piece_layout_test
}  // namespace headlight::text
