// SPDX-License-Identifier: GPL-3.0-or-later
// Mistral's tekken.json against transformers' converter (tests/golden/make_tekken_golden.py).
#include "headlight/io/json_file.h"
#include "headlight/text/tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "tests/text/files/same_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::text {
namespace tekken_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const fs::path kTests = HEADLIGHT_SOURCE_DIR "/tests";
const fs::path kFolder = kTests / "fixtures/text/tekken";

TEST(Tekken, IdsAreThoseOfTheConverter) {
    const json golden = io::read_json(kTests / "golden/text/tekken.json");
    const auto tokenizer = Tokenizer::load(kFolder);
    EXPECT_EQ(tokenizer->vocab_size(), golden.at("vocab_size").get<std::int64_t>());
    expect_same_ids(*tokenizer, golden.at("texts"), golden.at("ids"));
}

TEST(Tekken, ATextBeginsAsTheModelsWereTrained) {
    const auto tokenizer = Tokenizer::load(kFolder);
    EXPECT_EQ(tokenizer->encode("a").tokens.front(), "<s>");
    EXPECT_EQ(tokenizer->id_of("<SPECIAL_7>"), 7);
}

std::string failure(const std::function<void(json&)>& edit) {
    json content = io::read_json(kFolder / "tekken.json");
    edit(content);
    const test::TempFolder folder;
    folder.write("tekken.json", content.dump());
    return test::error_of([&] { Tokenizer::load(folder.path()); }, "opened");
}

TEST(Tekken, DamagedFilesAreErrors) {
    EXPECT_EQ(failure([](json&) {}), "opened");
    EXPECT_THAT(failure([](json& j) { j.erase("special_tokens"); }), HasSubstr("old version"));
    EXPECT_THAT(failure([](json& j) { j["vocab"][3]["token_bytes"] = "*"; }), HasSubstr("base64"));
    EXPECT_THAT(failure([](json& j) { j["special_tokens"][1]["rank"] = 0; }), HasSubstr("rank"));
    EXPECT_THAT(failure([](json& j) { j["config"]["default_vocab_size"] = 4; }), HasSubstr("default_vocab_size"));
    EXPECT_THAT(failure([](json& j) { j["config"].erase("pattern"); }), HasSubstr("pattern"));
}

}  // namespace tekken_test
}  // namespace headlight::text
