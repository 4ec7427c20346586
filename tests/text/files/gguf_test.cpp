// SPDX-License-Identifier: GPL-3.0-or-later
// The vocabulary in a GGUF file gives the tokens of the tokenizer.json it was made from.
#include "headlight/io/json_file.h"
#include "headlight/text/tokenizer.h"
#include "tests/support/case_name.h"
#include "tests/support/error_of.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::text {
namespace gguf_test {

using testing::AllOf;
using testing::HasSubstr;

const std::filesystem::path kTests = HEADLIGHT_SOURCE_DIR "/tests";

class GgufTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(GgufTokenizer, EqualsTheFoldersOwn) {
    const auto folder = Tokenizer::load(kTests / "fixtures/models" / GetParam());
    const auto file = Tokenizer::load(kTests / "fixtures/gguf" / (std::string(GetParam()) + ".gguf"));
    EXPECT_EQ(file->description(), folder->description());
    for (std::int64_t id = 0; id < folder->vocab_size(); ++id) {
        EXPECT_EQ(file->token_of(id), folder->token_of(id));
        EXPECT_EQ(file->is_special(id), folder->is_special(id)) << id;
    }
    const auto texts = io::read_json(kTests / "golden/text/torture.json").get<std::vector<std::string>>();
    for (const std::string& text : texts) {
        const Encoding a = folder->encode(text), b = file->encode(text);
        EXPECT_EQ(b.ids, a.ids) << testing::PrintToString(text);
        EXPECT_EQ(b.offsets, a.offsets) << testing::PrintToString(text);
        EXPECT_EQ(b.words, a.words);
    }
}

INSTANTIATE_TEST_SUITE_P(Text, GgufTokenizer, testing::Values("llama-kv2", "gpt2", "bloom", "bert"),
                         [](const auto& each) { return test::case_name(each.param); });

using test::gguf_entry;
using test::gguf_text;
using test::raw;

std::string texts(const std::vector<std::string>& list) {
    std::string bytes = raw<std::uint32_t>(8) + raw<std::uint64_t>(list.size());
    for (const std::string& text : list) bytes += gguf_text(text);
    return bytes;
}

std::string failure(const std::vector<std::string>& entries) {
    const test::TempFolder folder;
    return test::error_of([&] { Tokenizer::load(folder.write("m.gguf", test::gguf_file(entries, {}, ""))); });
}

/// tests/golden/make_gguf_pre_golden.py
TEST(GgufVocabulary, DeepSeekV3CutsWhereTokenizersCuts) {
    const auto golden = io::read_json(kTests / "golden/text/gguf_pre.json");
    const test::TempFolder folder;
    const auto tokenizer = Tokenizer::load(folder.write(
        "m.gguf",
        test::gguf_file({gguf_entry("tokenizer.ggml.model", 8, gguf_text("gpt2")),
                         gguf_entry("tokenizer.ggml.pre", 8, gguf_text("deepseek-v3")),
                         gguf_entry("tokenizer.ggml.tokens", 9, texts(golden.at("tokens").get<std::vector<std::string>>())),
                         gguf_entry("tokenizer.ggml.merges", 9, texts({}))},
                        {}, "")));
    for (std::size_t i = 0; i < golden.at("texts").size(); ++i) {
        const auto text = golden.at("texts")[i].get<std::string>();
        const Encoding encoding = tokenizer->encode(text, std::nullopt, false);
        EXPECT_EQ(encoding.ids, golden.at("ids")[i].get<std::vector<std::int64_t>>()) << testing::PrintToString(text);
        EXPECT_EQ(encoding.words, golden.at("words")[i].get<std::vector<std::int64_t>>()) << testing::PrintToString(text);
    }
}

TEST(GgufVocabulary, ErrorsNameTheKey) {
    const std::string gpt2 = gguf_entry("tokenizer.ggml.model", 8, gguf_text("gpt2"));
    const std::string tokens = gguf_entry("tokenizer.ggml.tokens", 9, texts({"a", "b"}));
    const auto pre = [](const char* name) { return gguf_entry("tokenizer.ggml.pre", 8, gguf_text(name)); };
    EXPECT_THAT(failure({gpt2}), AllOf(HasSubstr("tokenizer.ggml.tokens"), HasSubstr("no such key")));
    EXPECT_THAT(failure({tokens}), HasSubstr("tokenizer.ggml.model"));
    EXPECT_THAT(failure({gguf_entry("tokenizer.ggml.model", 8, gguf_text("rwkv")), tokens}), HasSubstr("rwkv"));
    EXPECT_THAT(failure({gpt2, tokens}), AllOf(HasSubstr("tokenizer.ggml.merges"), HasSubstr("no such key")));
    EXPECT_THAT(failure({gpt2, tokens, pre("klingon")}),
                AllOf(HasSubstr("klingon"), HasSubstr("smollm"), HasSubstr("tokenizer.json")));
    EXPECT_THAT(failure({gpt2, gguf_entry("tokenizer.ggml.tokens", 9, texts({"a", "a"}))}), HasSubstr("tokens[1]"));
    EXPECT_THAT(failure({gpt2, gguf_entry("tokenizer.ggml.tokens", 9, texts({"\xff"}))}),
                AllOf(HasSubstr("tokens[0]"), HasSubstr("UTF-8")));
    EXPECT_THAT(failure({gpt2, tokens,
                         gguf_entry("tokenizer.ggml.token_type", 9,
                                    raw<std::uint32_t>(5) + raw<std::uint64_t>(1) + raw<std::int32_t>(1))}),
                HasSubstr("token_type"));
    EXPECT_THAT(failure({gpt2, tokens, gguf_entry("tokenizer.ggml.merges", 9, texts({"a c"}))}), HasSubstr("merge"));
    const std::string llama = gguf_entry("tokenizer.ggml.model", 8, gguf_text("llama"));
    EXPECT_THAT(failure({llama, tokens}), HasSubstr("tokenizer.ggml.scores"));
    EXPECT_THAT(failure({gpt2, tokens, gguf_entry("tokenizer.ggml.merges", 9, texts({})),
                         gguf_entry("tokenizer.ggml.bos_token_id", 4, raw<std::uint32_t>(7))}),
                AllOf(HasSubstr("bos_token_id"), HasSubstr("found 7")));
}

}  // namespace gguf_test
}  // namespace headlight::text
