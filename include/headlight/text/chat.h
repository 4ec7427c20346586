// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/text/tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

struct ChatMessage {
    std::string role;  ///< "system", "user", "assistant"
    std::string content;
    bool operator==(const ChatMessage&) const = default;
};

/// The presets of chat_text: "chatml" (Qwen, SmolLM2), "llama-3", "gemma", "mistral" (v0.3).
std::vector<std::string> chat_presets();

/// A JSON list of {"role", "content"}, or lines "role: text"; a line that names no role goes on with the message before it,
/// with its line feed. Error for anything else, with its place.
std::vector<ChatMessage> parse_chat(std::string_view text);

/// The chat in the format of the preset, up to the start of the answer unless the last message is the assistant's. The token that
/// begins a text is written only where the tokenizer does not put it there itself, so the result is encoded like any other text.
/// Gemma has no system role: what it says goes in front of the first user message; Mistral's in front of the last. Default system
/// messages of some templates (Qwen2, SmolLM2) are not added. Error for an unknown preset or role, and for a tokenizer without
/// the preset's tokens.
std::string chat_text(std::string_view preset, const std::vector<ChatMessage>&, const Tokenizer&);

/// The role of each token's turn, from the marks of any preset in the text: "user" … for the tokens of a turn with its marks,
/// empty outside. One entry per token; all empty if the text is not a chat.
std::vector<std::string> chat_roles(const Tokenizer&, const Encoding&);

}  // namespace headlight::text
