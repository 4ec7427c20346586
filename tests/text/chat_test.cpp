// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/chat.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace headlight::text {
namespace chat_test {

using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

/// Letters as tokens, and the marks that are named; `begins` is put in front of every text.
std::shared_ptr<const Tokenizer> letters_and(const std::vector<std::string>& marks, const std::string& begins = "") {
    json vocab = json::object(), added = json::array();
    for (int c = 33; c < 127; ++c) vocab[std::string(1, static_cast<char>(c))] = c - 33;
    vocab["Ġ"] = 94;
    vocab["Ċ"] = 95;
    for (std::size_t i = 0; i < marks.size(); ++i)
        added.push_back({{"id", 96 + i}, {"content", marks[i]}, {"special", true}, {"normalized", false}});
    json root = {{"added_tokens", added},
                 {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
                 {"decoder", {{"type", "ByteLevel"}}},
                 {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", json::array()}}}};
    if (!begins.empty())
        root["post_processor"] = {
            {"type", "TemplateProcessing"},
            {"single", {{{"SpecialToken", {{"id", begins}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
            {"pair", {{{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "B"}, {"type_id", 1}}}}}},
            {"special_tokens", {{begins, {{"id", begins}, {"ids", {96}}, {"tokens", {begins}}}}}}};
    const test::TempFolder folder;
    return Tokenizer::from_json_file(folder.write("tokenizer.json", root.dump()));
}

const std::map<std::string, std::vector<std::string>> kMarks = {
    {"chatml", {"<|im_start|>", "<|im_end|>"}},
    {"llama-3", {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}},
    {"gemma", {"<bos>", "<start_of_turn>", "<end_of_turn>"}},
    {"mistral", {"<s>", "</s>", "[INST]", "[/INST]"}}};

const std::vector<ChatMessage> kChat{{"system", "Be brief."}, {"user", " Hi "}, {"assistant", "Yes?"}, {"user", "Why"}};

TEST(Chat, LinesAndJsonAreTheSame) {
    const auto lines = parse_chat("system: Be brief.\nuser: Hi\n\n  more: of it\nassistant:  Yes?\n");
    EXPECT_THAT(lines, ElementsAre(ChatMessage{"system", "Be brief."}, ChatMessage{"user", "Hi\n\n  more: of it"},
                                   ChatMessage{"assistant", "Yes?"}));
    EXPECT_THAT(parse_chat(R"([{"role": "user", "content": "Hi"}])"), ElementsAre(ChatMessage{"user", "Hi"}));
    for (const char* bad : {"", "\n", "hello", "[{\"role\": \"user\"}]", "[{\"role\": \"cat\", \"content\": \"x\"}]", "[1]", "["})
        EXPECT_THROW(parse_chat(bad), Error) << bad;
}

TEST(Chat, EachPresetWritesItsMarks) {
    const auto chatml = letters_and(kMarks.at("chatml"));
    EXPECT_EQ(chat_text("chatml", kChat, *chatml),
              "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\nYes?<|im_end|>\n"
              "<|im_start|>user\nWhy<|im_end|>\n<|im_start|>assistant\n");
    const std::vector<std::string>& marks = kMarks.at("llama-3");
    const std::string llama =
        "<|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nYes?<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWhy<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n";
    EXPECT_EQ(chat_text("llama-3", kChat, *letters_and(marks)), "<|begin_of_text|>" + llama);
    const auto begins = letters_and(marks, "<|begin_of_text|>");
    EXPECT_EQ(chat_text("llama-3", kChat, *begins), llama) << "the tokenizer writes the first token itself";
    EXPECT_EQ(begins->encode(llama).ids, letters_and(marks)->encode("<|begin_of_text|>" + llama).ids);
    EXPECT_EQ(chat_text("gemma", kChat, *letters_and(kMarks.at("gemma"), "<bos>")),
              "<start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nYes?<end_of_turn>\n"
              "<start_of_turn>user\nWhy<end_of_turn>\n<start_of_turn>model\n");
    EXPECT_EQ(chat_text("mistral", kChat, *letters_and(kMarks.at("mistral"), "<s>")),
              "[INST]  Hi [/INST] Yes?</s>[INST] Be brief.\n\nWhy[/INST]");
    EXPECT_EQ(chat_text("chatml", {{"user", "a"}, {"assistant", "b"}}, *chatml),
              "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n")
        << "an existing answer is not started again";
}

/// tests/golden/text/chats.json: what Jinja renders from the chat templates of Qwen2 (ChatML), Llama 3, Gemma 3 and Mistral 7B
/// v0.3; the messages reach into white space, other scripts, and conversations that end with an answer.
TEST(Chat, PresetsWriteWhatTheModelsTemplatesRender) {
    const json chats = io::read_json(HEADLIGHT_SOURCE_DIR "/tests/golden/text/chats.json");
    ASSERT_GE(chats.size(), 8u);
    for (const json& chat : chats) {
        const std::vector<ChatMessage> messages = parse_chat(chat.at("messages").dump());
        for (const std::string& preset : chat_presets())
            EXPECT_EQ(chat_text(preset, messages, *letters_and(kMarks.at(preset))), chat.at(preset).get<std::string>()) << preset;
    }
}

TEST(Chat, ATokenizerOfAnotherKindIsRefused) {
    const auto chatml = letters_and(kMarks.at("chatml"));
    const auto failure = [&](const char* preset) { return test::error_of([&] { chat_text(preset, kChat, *chatml); }); };
    EXPECT_THAT(failure("gemma"), AllOf(HasSubstr("lacks the tokens of this chat format"), HasSubstr("<bos>")));
    EXPECT_THAT(failure("llama-3"), HasSubstr("<|begin_of_text|>"));
    EXPECT_THAT(failure("mistral"), HasSubstr("<s>"));
    EXPECT_THAT(failure("alpaca"), HasSubstr("chatml, llama-3, gemma, mistral"));
}

TEST(Chat, RolesAreReadFromTheMarks) {
    for (const auto& [preset, marks] : kMarks) {
        SCOPED_TRACE(preset);
        const auto tokenizer = letters_and(marks);
        const Encoding e = tokenizer->encode(chat_text(preset, kChat, *tokenizer));
        const std::vector<std::string> roles = chat_roles(*tokenizer, e);
        ASSERT_EQ(roles.size(), e.tokens.size());
        std::string seen, words;
        for (std::size_t i = 0; i < roles.size(); ++i) {
            if (roles[i].empty() || (i > 0 && roles[i] == roles[i - 1])) continue;
            seen += roles[i] + " ";
        }
        // A turn's tokens are those of its role; the last one is the answer that is to come, where it is marked.
        const std::string system = preset == "chatml" || preset == "llama-3" ? "system " : "";
        EXPECT_EQ(seen, system + "user assistant user " + (preset == "mistral" ? "" : "assistant "));
        const auto w = std::ranges::find(e.tokens, "W");
        ASSERT_NE(w, e.tokens.end());
        EXPECT_EQ(roles[static_cast<std::size_t>(w - e.tokens.begin())], "user");
    }
    const auto plain = letters_and({});
    EXPECT_THAT(chat_roles(*plain, plain->encode("no chat")), Each(""));
}

}  // namespace chat_test
}  // namespace headlight::text
