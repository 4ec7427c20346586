// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight {
namespace tokenize_test {

using nlohmann::json;
using test::built_in_model;
using test::headlight;
using test::Outcome;
using testing::HasSubstr;
using testing::IsEmpty;

// The contract that scripts rely on: these keys, these types, lengths all alike. Ids are those of the model's own
// tokenizer (Hugging Face tokenizers 0.20 on the same file).
TEST(TokenizeJson, IsTheDocumentedObject) {
    const Outcome outcome = headlight({"tokenize", built_in_model(), "--text", "Hi there 😀", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, IsEmpty());
    const json root = json::parse(outcome.out);
    ASSERT_EQ(root.size(), 5u);
    EXPECT_EQ(root["ids"][0], 1);
    EXPECT_EQ(root["tokens"][0], "<s>");
    EXPECT_EQ(root["special"][0], true);
    EXPECT_EQ(root["offsets"][0], json::parse("[0,0]"));
    EXPECT_TRUE(root["words"][0].is_null());
    EXPECT_EQ(root["special"][1], false);
    EXPECT_EQ(root["words"][1], 0);
    for (const char* key : {"tokens", "offsets", "special", "words"}) EXPECT_EQ(root[key].size(), root["ids"].size()) << key;
    EXPECT_EQ(root["offsets"].back(), json::parse("[9,13]"));  // bytes, not characters
}

TEST(TokenizeJson, PairAddsTheSentence) {
    const Outcome outcome = headlight({"tokenize", built_in_model(), "--text", "One", "--pair", "Two", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const json sequences = json::parse(outcome.out)["sequences"];
    EXPECT_NE(std::find(sequences.begin(), sequences.end(), json(0)), sequences.end());
    EXPECT_NE(std::find(sequences.begin(), sequences.end(), json(1)), sequences.end());
}

TEST(Tokenize, TakesTheTextFromAnywhere) {
    const test::TempFolder folder;
    const std::string text = "A line.\r\nAnother [one]\n";
    const Outcome direct = headlight({"tokenize", built_in_model(), "--text", text, "--json"});
    ASSERT_EQ(direct.code, 0) << direct.err;
    EXPECT_EQ(headlight({"tokenize", built_in_model(), "--text", "-", "--json"}, text).out, direct.out);
    EXPECT_EQ(headlight({"tokenize", built_in_model(), "--text-file", folder.write("t", text), "--json"}).out, direct.out);
}

TEST(Tokenize, FindsTheModelByNameAndInTheCache) {
    const std::string expected = headlight({"tokenize", built_in_model(), "--text", "x", "--json"}).out;
    EXPECT_EQ(headlight({"tokenize", "novella-7m", "--text", "x", "--json"}).out, expected);
    const test::TempFolder cache;
    const auto entry = cache / "hub/models--org--tiny";
    std::filesystem::create_directories(entry / "snapshots");
    std::filesystem::create_directories(entry / "refs");
    std::filesystem::create_directory_symlink(built_in_model(), entry / "snapshots/abc123");
    cache.write("hub/models--org--tiny/refs/main", "abc123");
    const Outcome cached = headlight({"tokenize", "org/tiny", "--text", "x", "--json"}, "", {{"HF_HOME", cache.path()}});
    EXPECT_EQ(cached.out, expected) << cached.err;
}

TEST(Tokenize, ForPeopleIsATableOnStandardOutput) {
    const Outcome outcome = headlight({"tokenize", built_in_model(), "--text", "Hi there"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, HasSubstr("·there"));
    EXPECT_THAT(outcome.err, HasSubstr("tokens"));
    EXPECT_THAT(headlight({"tokenize", built_in_model(), "--text", "Hi there", "--quiet"}).err, IsEmpty());
}

TEST(Tokenize, LinesOfTheTableAreNotBrokenByTheText) {
    const Outcome outcome = headlight({"tokenize", built_in_model(), "--text", "a\n\tb\x1b[31m"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    std::size_t position = 0;
    std::istringstream lines(outcome.out);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) EXPECT_THAT(line, testing::StartsWith(std::to_string(position++) + "\t"));
    EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

struct Refusal {
    const char* name;
    std::vector<std::string> arguments;
    std::string input, message;
};
void PrintTo(const Refusal& r, std::ostream* out) { *out << r.name; }

class TokenizeRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(TokenizeRefuses, WithCodeOneAndAMessage) {
    std::vector<std::string> arguments{"tokenize"};
    arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
    const Outcome outcome = headlight(arguments, GetParam().input);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, testing::StartsWith("headlight: "));
    EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    All, TokenizeRefuses,
    testing::Values(Refusal{"EmptyText", {built_in_model(), "--text", ""}, "", "There is nothing in the text: --text"},
                    Refusal{"EmptyInput", {built_in_model(), "--text", "-"}, "", "There is nothing in the text: standard input"},
                    Refusal{"EmptyFile", {built_in_model(), "--text-file", "/dev/null"}, "", "/dev/null"},
                    Refusal{
                        "EmptyPair", {built_in_model(), "--text", "a", "--pair", ""}, "", "There is nothing in the text: --pair"},
                    Refusal{"InvalidUtf8", {built_in_model(), "--text", "ab\xff"}, "", "UTF-8"},
                    Refusal{"LoneSurrogate", {built_in_model(), "--text", "-"}, "a\xed\xa0\x80", "UTF-8"},
                    Refusal{"NoSuchFile", {built_in_model(), "--text-file", "/nonexistent"}, "", "No such file: /nonexistent"},
                    Refusal{"FileIsAFolder", {built_in_model(), "--text-file", "/tmp"}, "", "found a folder"},
                    Refusal{"NoSuchModel", {"no-such-model", "--text", "x"}, "", "no-such-model"},
                    Refusal{"Gguf", {"model.gguf", "--text", "x"}, "", "No such model: model.gguf"},
                    Refusal{"FolderWithoutAnything", {"/dev", "--text", "x"}, "", "/dev"}),
    [](const auto& c) { return std::string(c.param.name); });

TEST(Tokenize, FullOutputIsReported) {
    const Outcome outcome = headlight({"tokenize", built_in_model(), "--text", "x", "--json"}, "", {}, "/dev/full");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("Cannot write to standard output: found No space left on device"));
}

TEST(Tokenize, ChatsNeedTheModelsMarks) {
    const Outcome none = headlight({"tokenize", built_in_model(), "--text", "user: Hi", "--chat", "chatml"});
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("<|im_start|>"));
    EXPECT_THAT(headlight({"tokenize", built_in_model(), "--text", "user: Hi", "--chat", "chat"}).err, HasSubstr("chatml"));
    // Mistral's marks are plain text for a tokenizer that has no others, and this one has <s> and </s>.
    const Outcome asked = headlight({"tokenize", built_in_model(), "--text", "user: Hi", "--chat", "mistral", "--json"});
    const Outcome same = headlight({"tokenize", built_in_model(), "--text", "[INST] Hi[/INST]", "--json"});
    ASSERT_EQ(asked.code, 0) << asked.err;
    EXPECT_EQ(asked.out, same.out);
}

}  // namespace tokenize_test
}  // namespace headlight
