// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight {
namespace tokenize_test {

using nlohmann::json;
using test::built_in_model;
using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::refused;
using testing::HasSubstr;
using testing::IsEmpty;

// The contract that scripts rely on: these keys, these types, lengths all alike. Ids are those of the model's own
// tokenizer (Hugging Face tokenizers 0.20 on the same file).
TEST(TokenizeJson, IsTheDocumentedObject) {
    const Outcome outcome = done(headlight({"tokenize", built_in_model(), "--text", "Hi there 😀", "--json"}));
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
    const Outcome outcome = done(headlight({"tokenize", built_in_model(), "--text", "One", "--pair", "Two", "--json"}));
    const json sequences = json::parse(outcome.out)["sequences"];
    EXPECT_NE(std::find(sequences.begin(), sequences.end(), json(0)), sequences.end());
    EXPECT_NE(std::find(sequences.begin(), sequences.end(), json(1)), sequences.end());
}

TEST(Tokenize, TakesTheTextFromAnywhere) {
    const test::TempFolder folder;
    const std::string text = "A line.\r\nAnother [one]\n";
    const Outcome direct = done(headlight({"tokenize", built_in_model(), "--text", text, "--json"}));
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
    const Outcome outcome = done(headlight({"tokenize", built_in_model(), "--text", "Hi there"}));
    EXPECT_THAT(outcome.out, HasSubstr("·there"));
    EXPECT_THAT(outcome.err, HasSubstr("tokens"));
    EXPECT_THAT(headlight({"tokenize", built_in_model(), "--text", "Hi there", "--quiet"}).err, IsEmpty());
}

TEST(Tokenize, LinesOfTheTableAreNotBrokenByTheText) {
    const Outcome outcome = done(headlight({"tokenize", built_in_model(), "--text", "a\n\tb\x1b[31m"}));
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
    const Outcome outcome = refused(headlight(joined({"tokenize"}, GetParam().arguments), GetParam().input), 1,
                                    testing::AllOf(testing::StartsWith("headlight: "), HasSubstr(GetParam().message)));
    EXPECT_THAT(outcome.out, IsEmpty());
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
    refused(headlight({"tokenize", built_in_model(), "--text", "x", "--json"}, "", {}, "/dev/full"), 1,
            HasSubstr("Cannot write to standard output: found No space left on device"));
}

TEST(Tokenize, ChatsNeedTheModelsMarks) {
    refused(headlight({"tokenize", built_in_model(), "--text", "user: Hi", "--chat", "chatml"}), 1, HasSubstr("<|im_start|>"));
    EXPECT_THAT(headlight({"tokenize", built_in_model(), "--text", "user: Hi", "--chat", "chat"}).err, HasSubstr("chatml"));
    // Mistral's marks are plain text for a tokenizer that has no others, and this one has <s> and </s>.
    const Outcome asked = headlight({"tokenize", built_in_model(), "--text", "user: Hi", "--chat", "mistral", "--json"});
    const Outcome same = headlight({"tokenize", built_in_model(), "--text", "[INST] Hi[/INST]", "--json"});
    ASSERT_EQ(asked.code, 0) << asked.err;
    EXPECT_EQ(asked.out, same.out);
}

}  // namespace tokenize_test
}  // namespace headlight
