// SPDX-License-Identifier: GPL-3.0-or-later
// Broken and lying tokenizer files: each is an Error that names file and field.
#include "headlight/base/error.h"
#include "headlight/text/tokenizer.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>

namespace headlight::text {
namespace hostile_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class Hostile : public testing::Test {
protected:
    void write(const std::string& name, const std::string& content) { folder_.write(name, content); }

    static json good() {
        return {
            {"version", "1.0"},
            {"added_tokens", json::array({{{"id", 0}, {"content", "<s>"}, {"special", true}},
                                          {{"id", 4}, {"content", "<new>"}, {"special", true}}})},
            {"normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "NFC"}}, {{"type", "Lowercase"}}}}}},
            {"pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "\\s+"}}}, {"behavior", "Isolated"}, {"invert", false}}},
            {"post_processor",
             {{"type", "TemplateProcessing"},
              {"single", {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
              {"pair", {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "B"}, {"type_id", 1}}}}}},
              {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {0}}, {"tokens", {"<s>"}}}}}}}},
            {"model", {{"type", "BPE"}, {"vocab", {{"<s>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}}}, {"merges", {"a b"}}}}};
    }

    /// Loads the good file after `change`; the message must name the file and `item` and hold `text`.
    void expect_error(const std::function<void(json&)>& change, const std::string& item, const std::string& text = "") {
        json file = good();
        change(file);
        write("tokenizer.json", file.dump());
        expect_load_error(item, text, (folder_ / "tokenizer.json").string());
    }

    void expect_load_error(const std::string& item, const std::string& text, const std::string& file) {
        try {
            const auto t = Tokenizer::load(folder_.path());
            ADD_FAILURE() << "loaded; expected an error about " << item;
        } catch (const Error& e) {
            EXPECT_EQ(e.facts().file, file) << e.what();
            EXPECT_EQ(e.facts().item, item) << e.what();
            EXPECT_THAT(e.what(), HasSubstr(text));
        }
    }

    const test::TempFolder folder_;
};

TEST_F(Hostile, TheGoodFileLoads) {
    write("tokenizer.json", good().dump());
    const auto t = Tokenizer::load(folder_.path());
    EXPECT_EQ(t->vocab_size(), 5);
    EXPECT_EQ(t->encode("AB").ids, (std::vector<std::int64_t>{0, 3}));
}

TEST_F(Hostile, BrokenJsonNamesTheLine) {
    write("tokenizer.json", "{\"model\": {\n \"type\": \"BPE\",,}");
    EXPECT_EQ(test::error_facts([&] { Tokenizer::load(folder_.path()); }).file, folder_ / "tokenizer.json");
    EXPECT_THAT(test::error_of([&] { Tokenizer::load(folder_.path()); }), HasSubstr("line 2"));
    write("tokenizer.json", "[]");
    expect_load_error("the whole file", "an object", (folder_ / "tokenizer.json").string());
}

TEST_F(Hostile, NoTokenizerAtAll) { expect_load_error("", "tokenizer.json, or vocab.txt", folder_.path().string()); }

TEST_F(Hostile, MissingFields) {
    expect_error([](json& j) { j.erase("model"); }, "model");
    expect_error([](json& j) { j["model"] = nullptr; }, "model");
    expect_error([](json& j) { j["model"].erase("vocab"); }, "model.vocab");
    expect_error([](json& j) { j["model"].erase("merges"); }, "model.merges");
    expect_error([](json& j) { j["pre_tokenizer"].erase("pattern"); }, "pre_tokenizer.pattern");
    expect_error([](json& j) { j["post_processor"].erase("pair"); }, "post_processor.pair");
    expect_error([](json& j) { j["normalizer"]["normalizers"][1].erase("type"); }, "normalizer.normalizers[1].type");
}

TEST_F(Hostile, UnknownStagesListTheKnownOnes) {
    expect_error([](json& j) { j["model"]["type"] = "Trigram"; }, "model.type",
                 "one of BPE, WordPiece, Unigram, WordLevel, found Trigram");
    expect_error([](json& j) { j["normalizer"]["normalizers"][0]["type"] = "Precooked"; }, "normalizer.normalizers[0].type",
                 "BertNormalizer");
    expect_error([](json& j) { j["pre_tokenizer"] = {{"type", "Hyperspace"}}; }, "pre_tokenizer.type", "ByteLevel");
    expect_error([](json& j) { j["post_processor"] = {{"type", "?"}}; }, "post_processor.type", "TemplateProcessing");
}

TEST_F(Hostile, WrongTypes) {
    expect_error([](json& j) { j["model"] = 3; }, "model", "an object");
    expect_error([](json& j) { j["model"]["vocab"] = json::array(); }, "model.vocab", "an object");
    expect_error([](json& j) { j["model"]["vocab"]["a"] = "1"; }, "model.vocab[\"a\"]", "a whole number");
    expect_error([](json& j) { j["model"]["vocab"]["a"] = 1.5; }, "model.vocab[\"a\"]", "a whole number");
    expect_error([](json& j) { j["model"]["merges"] = "a b"; }, "model.merges", "an array");
    expect_error([](json& j) { j["model"]["ignore_merges"] = 1; }, "model.ignore_merges", "true or false");
    expect_error([](json& j) { j["model"]["unk_token"] = 7; }, "model.unk_token", "a string");
    expect_error([](json& j) { j["added_tokens"] = 1; }, "added_tokens", "an array");
    expect_error([](json& j) { j["added_tokens"][0] = "x"; }, "added_tokens[0]", "an object");
    expect_error([](json& j) { j["added_tokens"][0]["content"] = 5; }, "added_tokens[0].content", "a string");
    expect_error([](json& j) { j["pre_tokenizer"]["behavior"] = "Sometimes"; }, "pre_tokenizer.behavior", "Isolated");
    expect_error([](json& j) { j["pre_tokenizer"]["pattern"] = json::object(); }, "pre_tokenizer.pattern", "Regex");
    expect_error([](json& j) { j["pre_tokenizer"]["pattern"]["Regex"] = "(a"; }, "pre_tokenizer.pattern.Regex", "cannot be read");
    expect_error([](json& j) { j["normalizer"]["normalizers"] = 0; }, "normalizer.normalizers", "an array");
}

TEST_F(Hostile, VocabularyIds) {
    expect_error([](json& j) { j["model"]["vocab"]["ab"] = 16'000'000; }, "model.vocab[\"ab\"]", "gap");
    expect_error([](json& j) { j["model"]["vocab"]["ab"] = 1; }, "model.vocab[\"ab\"]", "same id");
    expect_error([](json& j) { j["model"]["vocab"]["ab"] = -1; }, "model.vocab[\"ab\"]", "a whole number");
    expect_error([](json& j) { j["model"]["vocab"]["ab"] = 4'000'000'000; }, "model.vocab[\"ab\"]", "a whole number");
    expect_error([](json& j) { j["model"]["vocab"]["ab"] = UINT64_MAX; }, "model.vocab[\"ab\"]", "a whole number");
    expect_error([](json& j) { j["model"]["vocab"] = json::object(); }, "model.vocab", "empty");
}

TEST_F(Hostile, Merges) {
    expect_error([](json& j) { j["model"]["merges"] = {"a c"}; }, "model.merges[0]", "found c");
    expect_error([](json& j) { j["model"]["merges"] = {"a b", "b a"}; }, "model.merges[1]", "found ba");
    expect_error([](json& j) { j["model"]["merges"] = {"ab"}; }, "model.merges[0]", "one space");
    expect_error([](json& j) { j["model"]["merges"] = {"a b c"}; }, "model.merges[0]", "one space");
    expect_error([](json& j) { j["model"]["merges"] = json::array({json::array({"a", "b", "c"})}); }, "model.merges[0]");
    expect_error([](json& j) { j["model"]["merges"] = json::array({json::array({"a", 1})}); }, "model.merges[0]");
    expect_error([](json& j) { j["model"]["unk_token"] = "[UNK]"; }, "model.unk_token", "[UNK]");
    expect_error([](json& j) { j["model"]["continuing_subword_prefix"] = "####"; }, "model.merges[0]", "begins with");
}

TEST_F(Hostile, ByteFallbackWithAnAffix) {
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        expect_error(
            [&](json& j) {
                j["model"]["byte_fallback"] = true;
                j["model"][affix] = "</w>";
                j["model"]["merges"] = json::array();
            },
            "model.byte_fallback", affix);
    }
}

TEST_F(Hostile, AddedTokens) {
    expect_error([](json& j) { j["added_tokens"][0]["id"] = 1; }, "added_tokens[0].id", "conflicts");
    expect_error([](json& j) { j["added_tokens"][1]["id"] = 2; }, "added_tokens[1].id", "2 is \"b\"");
    expect_error([](json& j) { j["added_tokens"][1]["id"] = 7; }, "added_tokens[1].id", "the next free id, 4");
    expect_error([](json& j) { j["added_tokens"][1]["id"] = 1e12; }, "added_tokens[1].id", "a whole number");
    expect_error([](json& j) { j["added_tokens"][1]["content"] = ""; }, "added_tokens[1].content", "empty");
    expect_error([](json& j) { j["added_tokens"][1] = j["added_tokens"][0]; }, "added_tokens[1].content", "twice");
    expect_error(
        [](json& j) {
            j["added_tokens"] = json::array(
                {{{"id", 4}, {"content", "Day"}, {"normalized", true}}, {{"id", 5}, {"content", "day"}, {"normalized", true}}});
            j.erase("post_processor");
        },
        "added_tokens[1].content", "equal after normalization");
}

TEST_F(Hostile, PostProcessors) {
    expect_error([](json& j) { j["post_processor"]["special_tokens"]["<s>"]["ids"] = {77}; },
                 "post_processor.special_tokens.<s>.ids[0]", "77");
    expect_error([](json& j) { j["post_processor"]["special_tokens"] = json::object(); },
                 "post_processor.single[0].SpecialToken.id", "<s>");
    expect_error([](json& j) { j["post_processor"]["single"].erase(1); }, "post_processor.single", "leaves out");
    expect_error([](json& j) { j["post_processor"]["pair"].erase(1); }, "post_processor.pair", "leaves out");
    expect_error([](json& j) { j["post_processor"]["single"][1]["Sequence"]["id"] = "C"; },
                 "post_processor.single[1].Sequence.id", "\"A\"");
    expect_error(
        [](json& j) {
            j["post_processor"] = {{"type", "Sequence"}, {"processors", {j["post_processor"], j["post_processor"]}}};
        },
        "post_processor.processors[1]", "only one template");
    expect_error(
        [](json& j) {
            j["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"a"}}, {"cls", {"a", 1}}};
        },
        "post_processor.sep");
}

TEST_F(Hostile, SequencesInsideThemselvesToTheLimit) {
    std::string deep = "{\"normalizer\": ";
    for (int i = 0; i < 5000; ++i) deep += "{\"type\": \"Sequence\", \"normalizers\": [";
    write("tokenizer.json", deep);
    EXPECT_THROW(Tokenizer::load(folder_.path()), Error);
}

TEST_F(Hostile, VocabularyFiles) {
    write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n\xe2\x82\n");
    expect_load_error("line 5", "UTF-8", (folder_ / "vocab.txt").string());
    write("vocab.txt", "[PAD]\n[UNK]\nthe\n");
    expect_load_error("[CLS]", "special token", (folder_ / "vocab.txt").string());
    write("tokenizer_config.json", "{\"do_lower_case\": \"yes\"}");
    write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\n");
    expect_load_error("do_lower_case", "true or false", (folder_ / "tokenizer_config.json").string());
    fs::remove(folder_ / "vocab.txt");
    write("vocab.json", "{\"a\": 0, \"b\": 1}");
    write("merges.txt", "#version: 0.2\na b\n");
    write("tokenizer_config.json", "{}");
    expect_load_error("model.merges[0]", "found ab", (folder_ / "vocab.json").string());
    write("tokenizer_config.json", "{\"tokenizer_class\": \"CLIPTokenizer\"}");
    expect_load_error("tokenizer_class", "CLIPTokenizer", (folder_ / "tokenizer_config.json").string());
}

TEST_F(Hostile, APatternThatBacktracksForEverStops) {
    json file = good();
    file["pre_tokenizer"]["pattern"]["Regex"] = "(a|a)*c";
    write("tokenizer.json", file.dump());
    const auto t = Tokenizer::load(folder_.path());
    EXPECT_THROW(t->encode(std::string(60, 'a')), Error);
}

/// Of a tokenizer that loads, and a text.
std::string encoding_failure(const std::shared_ptr<const Tokenizer>& t, const std::string& text) {
    return test::error_of([&] { t->encode(text); }, "encoded");
}

TEST_F(Hostile, NormalizersMayNotBlowUpTheText) {
    json replaces = json::array(), prepends = json::array();
    for (int i = 0; i < 20; ++i) {
        replaces.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(100, 'a')}});
        prepends.push_back({{"type", "Prepend"}, {"prepend", std::string(1 << 20, 'b')}});
    }
    for (const json& list : {replaces, prepends}) {
        json file = good();
        file["normalizer"] = {{"type", "Sequence"}, {"normalizers", list}};
        write("tokenizer.json", file.dump());
        EXPECT_THAT(encoding_failure(Tokenizer::load(folder_.path()), "ababab"),
                    AllOf(HasSubstr("makes the text too long"), HasSubstr((folder_ / "tokenizer.json").string())));
    }
    // At the time of loading too: tokens are looked for in normalized text.
    expect_error(
        [&](json& j) {
            j["normalizer"] = {{"type", "Sequence"}, {"normalizers", replaces}};
            j["added_tokens"][1] = {{"id", 4}, {"content", "aaa"}, {"special", false}, {"normalized", true}};
        },
        "normalizer", "makes the text too long");
}

TEST_F(Hostile, TheLongestOfUnicodesOwnFormsStillFits) {
    json file = good();
    file["normalizer"] = {{"type", "NFKC"}};
    file["model"]["unk_token"] = "a";
    write("tokenizer.json", file.dump());
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += "\uFDFA";  // 18 characters, 33 bytes
    EXPECT_EQ(encoding_failure(Tokenizer::load(folder_.path()), text), "encoded");
}

TEST_F(Hostile, AllPatternsOfATextShareTwoSeconds) {
    json splits = json::array();
    for (int i = 0; i < 20; ++i)
        splits.push_back({{"type", "Split"}, {"pattern", {{"Regex", "(a+)+x"}}}, {"behavior", "Isolated"}, {"invert", false}});
    json file = good();
    file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", splits}};
    write("tokenizer.json", file.dump());
    const auto t = Tokenizer::load(folder_.path());
    EXPECT_THAT(encoding_failure(t, std::string(40, 'a') + "b"), HasSubstr("took too long"));
    EXPECT_EQ(encoding_failure(t, "abab"), "encoded") << "the next text has its own time";
}

}  // namespace hostile_test
}  // namespace headlight::text
