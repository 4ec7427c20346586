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

/// The text that a model of that kind was trained on, up to where its answer begins when the last message is not the
/// assistant's. The token that begins a text is written only where the tokenizer does not put it there itself, so the
/// result is encoded like any other text. Gemma has no system role: what it says goes in front of the first user message;
/// Mistral's in front of the last. A system message that some templates put where there is none (Qwen2's and SmolLM2's
/// own introductions) is not written. Error for an unknown preset or role, and for a tokenizer without the preset's tokens.
std::string chat_text(std::string_view preset, const std::vector<ChatMessage>&, const Tokenizer&);

/// Whose words a token belongs to, read from the marks of any of the presets in the text itself: "user" … for the tokens
/// of a turn with its marks, empty outside. One for each token; all empty in a text that is no chat.
std::vector<std::string> chat_roles(const Tokenizer&, const Encoding&);

}  // namespace headlight::text
