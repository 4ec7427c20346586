// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens and options that lie beside a tokenizer, as AutoTokenizer reads them (tests/golden/make_beside_golden.py).
#include "headlight/io/json_file.h"
#include "headlight/text/notes.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::text {
namespace beside_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Ids = std::vector<std::int64_t>;

const fs::path kTests = HEADLIGHT_SOURCE_DIR "/tests";

/// The fixture's files under the case's names, and the case's own.
std::shared_ptr<const Tokenizer> load(const json& of) {
    const test::TempFolder folder;
    for (const auto& file : fs::directory_iterator(kTests / "fixtures/text" / of.at("fixture").get<std::string>())) {
        const std::string name = file.path().filename().string();
        fs::copy_file(file, folder / of.value("base", json::object()).value(name, name));
    }
    for (const auto& [name, content] : of.at("files").items()) folder.write(name, content.dump());
    return Tokenizer::load(folder.path());
}

TEST(FilesBesideATokenizer, IdsAreThoseOfAutoTokenizer) {
    const json golden = io::read_json(kTests / "golden/text/beside.json");
    const auto texts = golden.at("texts").get<std::vector<std::string>>();
    for (const auto& [name, of] : golden.at("cases").items()) {
        const auto tokenizer = load(of);
        EXPECT_EQ(tokenizer->vocab_size(), of.at("vocab_size").get<std::int64_t>()) << name;
        for (std::size_t i = 0; i < texts.size(); ++i)
            EXPECT_EQ(tokenizer->encode(texts[i], std::nullopt, false).ids, of.at("ids")[i].get<Ids>())
                << name << ": " << texts[i];
    }
}

TEST(FilesBesideATokenizer, SpecialTokensAreKnownAsSuch) {
    const auto t = load({{"fixture", "llama3"},
                         {"files",
                          {{"tokenizer_config.json", {{"additional_special_tokens", {"<|im_start|>"}}}},
                           {"added_tokens.json", {{"<a>", 2503}, {"<|im_start|>", 2504}}}}}});
    EXPECT_FALSE(t->is_special(*t->id_of("<a>")));
    EXPECT_TRUE(t->is_special(*t->id_of("<|im_start|>")));
}

TEST(FilesBesideATokenizer, ErrorsNameFileAndField) {
    const auto failure = [](const char* name, const json& content) {
        return test::error_of([&] { load({{"fixture", "llama3"}, {"files", {{name, content}}}}); });
    };
    EXPECT_THAT(failure("added_tokens.json", {{"<a>", "x"}}), HasSubstr("added_tokens.json, <a>"));
    EXPECT_THAT(failure("tokenizer_config.json", {{"added_tokens_decoder", {{"x", {{"content", "<a>"}}}}}}),
                HasSubstr("tokenizer_config.json, added_tokens_decoder.x"));
    EXPECT_THAT(failure("special_tokens_map.json", {{"additional_special_tokens", "<a>"}}),
                HasSubstr("special_tokens_map.json, additional_special_tokens"));
    EXPECT_THAT(failure("tokenizer_config.json", json::array()), HasSubstr("tokenizer_config.json"));
}

TEST(FilesBesideATokenizer, OfARepeatedLineOfAVocabularyTheLastCounts) {
    const test::TempFolder folder;
    folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\nhouse\nthe\n");
    const auto t = Tokenizer::load(folder.path());
    EXPECT_EQ(t->encode("the house").ids, (Ids{2, 6, 5, 3}));  // as BertTokenizer of transformers
    EXPECT_EQ(t->token_of(4), "");
}

TEST(FilesBesideATokenizer, AVocabularyOfAminoAcidsIsReadAsOne) {
    const test::TempFolder folder;
    folder.write("vocab.txt",
                 "<cls>\n<pad>\n<eos>\n<unk>\nL\nA\nG\nV\nS\nE\nR\nT\nI\nD\nP\nK\nQ\nN\nF\nY\nM\nH\nW\nC\nX\nB\nU\nZ\nO\n"
                 ".\n-\n<null_1>\n<mask>");
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "EsmTokenizer"})");
    const auto t = Tokenizer::load(folder.path());
    // As EsmTokenizer of transformers.
    EXPECT_EQ(t->encode("MKTAYIAK").ids, (Ids{0, 20, 15, 11, 5, 19, 12, 5, 15, 2}));
    EXPECT_EQ(t->encode("M K T <mask> J A").ids, (Ids{0, 20, 15, 11, 32, 3, 5, 2}));
    EXPECT_EQ(t->encode("MKT JOZ.-").ids, (Ids{0, 20, 15, 11, 3, 28, 27, 29, 30, 2}));
    EXPECT_EQ(t->encode("acd").ids, (Ids{0, 3, 2}));
    EXPECT_EQ(t->encode("MK", "TA").ids, (Ids{0, 20, 15, 2, 11, 5, 2}));
    EXPECT_TRUE(t->is_special(0));
    EXPECT_FALSE(t->is_special(20));
}

TEST(FilesBesideATokenizer, AVocabularyThatIsNoWordPieceIsRefused) {
    const test::TempFolder folder;
    folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nC\nN\nO\n");
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "SmilesTokenizer"})");
    EXPECT_THAT(test::error_of([&] { Tokenizer::load(folder.path()); }),
                testing::AllOf(HasSubstr("SmilesTokenizer"), HasSubstr("not that of a WordPiece"), HasSubstr("vocab.txt")));
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "DistilBertTokenizerFast"})");
    EXPECT_EQ(Tokenizer::load(folder.path())->encode("c").ids, (Ids{2, 1, 3}));
}

TEST(NotesOnAText, UnknownTokensAreCountedFromAFifthOn) {
    const test::TempFolder folder;
    folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n");
    const auto t = Tokenizer::load(folder.path());
    EXPECT_THAT(notes_on(*t, t->encode("the the the the x")), IsEmpty()) << "a fifth is not more than a fifth";
    EXPECT_THAT(notes_on(*t, t->encode("the the the x")), ElementsAre(HasSubstr("1 of 4 tokens are [UNK]")));
    EXPECT_THAT(notes_on(*t, t->encode("")), IsEmpty());
}

TEST(NotesOnAText, ABeginningTypedInFrontOfItsOwnIsTwice) {
    const auto t = Tokenizer::load(kTests / "fixtures/text/llama3");
    EXPECT_THAT(notes_on(*t, t->encode("the house")), IsEmpty());
    EXPECT_THAT(notes_on(*t, t->encode("<|begin_of_text|>the house")), ElementsAre(HasSubstr("<|begin_of_text|>")));
    EXPECT_THAT(notes_on(*t, t->encode("<|begin_of_text|>the house", std::nullopt, false)), IsEmpty());
}

}  // namespace beside_test
}  // namespace headlight::text
