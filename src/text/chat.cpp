// SPDX-License-Identifier: GPL-3.0-or-later
// The formats as the models' own chat templates write them: ChatML (Qwen2, SmolLM2), Llama 3, Gemma, Mistral 7B v0.3.
#include "headlight/text/chat.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"

#include <algorithm>
#include <array>

namespace headlight::text {
namespace {

constexpr std::array<std::string_view, 3> kRoles{"system", "user", "assistant"};

/// How turns are marked: `begin` ROLE `after_role` CONTENT `end`.
struct Preset {
    std::string_view name;
    std::string_view text_begin;  ///< token in front of everything; empty: none
    std::string_view begin, after_role, end, after_end;
    std::string_view assistant;  ///< the role's name
    bool system = true;          ///< there is such a role
    bool trims = false;          ///< white space around a message is left out
};

constexpr Preset kTurns[] = {
    {"chatml", "", "<|im_start|>", "\n", "<|im_end|>", "\n", "assistant", true, false},
    {"llama-3", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>", "", "assistant", true, true},
    {"gemma", "<bos>", "<start_of_turn>", "\n", "<end_of_turn>", "\n", "model", false, true},
};
constexpr std::string_view kMistral = "mistral", kAsk = "[INST]", kAsked = "[/INST]", kMistralBegin = "<s>", kMistralEnd = "</s>";

std::string trimmed(std::string_view text) {
    constexpr std::string_view kWhite = " \t\r\n\f\v";
    const std::size_t first = text.find_first_not_of(kWhite);
    if (first == text.npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(kWhite) - first + 1));
}

bool is_role(std::string_view word) { return std::ranges::find(kRoles, word) != kRoles.end(); }

[[noreturn]] void fail(const std::string& problem, const std::string& item, const std::string& expected, const std::string& found,
                       const std::string& hint = {}) {
    throw Error(ErrorFacts{.problem = problem, .item = item, .expected = expected, .found = found, .hint = hint});
}

void require_tokens(const Tokenizer& tokenizer, std::string_view preset, std::initializer_list<std::string_view> tokens) {
    for (const std::string_view token : tokens) {
        // "<|end_header_id|>\n\n": the mark alone is a token.
        const std::string mark = trimmed(token);
        if (!mark.empty() && !tokenizer.id_of(mark))
            fail("The tokenizer lacks the tokens of this chat format", std::string(preset), "the token " + mark,
                 tokenizer.description(), "Choose the preset that the model was trained with");
    }
}

/// The token in front of a text, unless the tokenizer puts it there.
std::string beginning(const Tokenizer& tokenizer, std::string_view token) {
    if (token.empty()) return {};
    const auto id = tokenizer.id_of(token);
    const Encoding probe = tokenizer.encode("a");
    return id && !probe.ids.empty() && probe.ids.front() == *id ? std::string() : std::string(token);
}

/// What a system message says goes in front of a user's.
std::vector<ChatMessage> without_system(const std::vector<ChatMessage>& messages, bool before_last) {
    std::vector<ChatMessage> out;
    std::string system;
    for (const ChatMessage& m : messages) {
        if (m.role == "system") {
            system += (system.empty() ? "" : "\n\n") + m.content;
            continue;
        }
        out.push_back(m);
    }
    if (system.empty()) return out;
    const auto asks = [](const ChatMessage& m) { return m.role == "user"; };
    auto at = std::ranges::find_if(out, asks);
    if (before_last)
        for (auto it = out.begin(); it != out.end(); ++it)
            if (asks(*it)) at = it;
    if (at == out.end())
        fail("A system message without a user message", "system", "a user message that it goes in front of", "none");
    at->content = system + "\n\n" + at->content;
    return out;
}

std::string mistral_text(const std::vector<ChatMessage>& messages, const Tokenizer& tokenizer) {
    require_tokens(tokenizer, kMistral, {kMistralBegin, kMistralEnd});
    std::string out = beginning(tokenizer, kMistralBegin);
    for (const ChatMessage& m : without_system(messages, true)) {
        if (m.role == "user")
            out += std::string(kAsk) + " " + m.content + std::string(kAsked);
        else
            out += " " + trimmed(m.content) + std::string(kMistralEnd);
    }
    return out;
}

}  // namespace

std::vector<std::string> chat_presets() {
    std::vector<std::string> names;
    for (const Preset& preset : kTurns) names.emplace_back(preset.name);
    names.emplace_back(kMistral);
    return names;
}

std::vector<ChatMessage> parse_chat(std::string_view text) {
    std::vector<ChatMessage> messages;
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != text.npos && text[first] == '[') {
        const nlohmann::json list = io::parse_json(text, "the chat");
        for (std::size_t i = 0; i < list.size(); ++i) {
            const auto field = [&](const char* key) {
                const auto value = list[i].is_object() ? list[i].find(key) : list[i].end();
                if (!list[i].is_object() || value == list[i].end() || !value->is_string())
                    fail("The chat cannot be read", "[" + std::to_string(i) + "]." + key, "a text", "none");
                return value->template get<std::string>();
            };
            messages.push_back({field("role"), field("content")});
        }
    } else {
        std::size_t line = 0;
        for (std::size_t at = 0; at < text.size(); ++line) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            const std::string_view one = text.substr(at, end - at);
            const std::size_t colon = one.find(':');
            if (colon != one.npos && is_role(one.substr(0, colon))) {
                const std::size_t content = one.find_first_not_of(' ', colon + 1);
                messages.push_back(
                    {std::string(one.substr(0, colon)), content == one.npos ? "" : std::string(one.substr(content))});
            } else if (!messages.empty()) {
                messages.back().content += "\n" + std::string(one);
            } else if (!trimmed(one).empty()) {
                fail("The chat cannot be read", "line " + std::to_string(line + 1), "system: …, user: … or assistant: …",
                     "\"" + std::string(one.substr(0, 60)) + "\"");
            }
            at = end + 1;
        }
    }
    if (messages.empty()) fail("The chat is empty", "", "lines like \"user: …\", or a JSON list of role and content", "nothing");
    for (std::size_t i = 0; i < messages.size(); ++i)
        if (!is_role(messages[i].role))
            fail("Unknown role", "message " + std::to_string(i), "system, user or assistant", messages[i].role);
    return messages;
}

std::string chat_text(std::string_view name, const std::vector<ChatMessage>& messages, const Tokenizer& tokenizer) {
    if (name == kMistral) return mistral_text(messages, tokenizer);
    const auto preset = std::ranges::find(kTurns, name, &Preset::name);
    if (preset == std::end(kTurns)) {
        std::string known;
        for (const std::string& each : chat_presets()) known += (known.empty() ? "" : ", ") + each;
        fail("Unknown chat format", "", known, std::string(name));
    }
    const Preset& p = *preset;
    require_tokens(tokenizer, name, {p.text_begin, p.begin, p.end, p.after_role});
    std::vector<ChatMessage> turns = messages;
    for (ChatMessage& m : turns)  // Gemma's template puts the system's words in front of a user's as they are
        if (p.trims && (p.system || m.role != "system")) m.content = trimmed(m.content);
    if (!p.system) turns = without_system(turns, false);
    std::string out = beginning(tokenizer, p.text_begin);
    const auto open = [&](std::string_view role) {
        out.append(p.begin).append(role == "assistant" ? p.assistant : role).append(p.after_role);
    };
    for (const ChatMessage& m : turns) {
        open(m.role);
        out.append(m.content).append(p.end).append(p.after_end);
    }
    if (turns.empty() || turns.back().role != "assistant") open("assistant");
    return out;
}

std::vector<std::string> chat_roles(const Tokenizer& tokenizer, const Encoding& encoding) {
    std::vector<std::string> roles(encoding.tokens.size());
    const auto is = [&](std::size_t i, std::string_view mark) { return i < roles.size() && encoding.tokens[i] == mark; };
    const auto fill = [&](std::size_t from, std::size_t to, const std::string& role) {
        for (std::size_t i = from; i < std::min(to, roles.size()); ++i) roles[i] = role;
    };
    for (std::size_t i = 0; i < roles.size();) {
        const auto preset = std::ranges::find_if(kTurns, [&](const Preset& p) { return is(i, p.begin); });
        if (preset != std::end(kTurns)) {
            // The role is spelt after the mark, up to the next mark or line feed.
            std::string role;
            std::size_t at = i + 1;
            const std::string after = trimmed(preset->after_role);
            for (; at < roles.size() && role.size() < 40; ++at) {
                if (!after.empty() ? encoding.tokens[at] == after : role.find('\n') != role.npos) break;
                role += tokenizer.bytes_of(encoding.ids[at]);
            }
            role = trimmed(role.substr(0, role.find('\n')));
            if (role == preset->assistant) role = "assistant";
            std::size_t end = i + 1;
            while (end < roles.size() && !is(end, preset->end) && !is(end, preset->begin)) ++end;
            end += is(end, preset->end);
            fill(i, end, role);
            i = end;
        } else if (is(i, kAsk)) {
            std::size_t asked = i;
            while (asked < roles.size() && !is(asked, kAsked)) ++asked;
            std::size_t end = std::min(asked + 1, roles.size());
            fill(i, end, "user");
            const std::size_t answer = end;
            while (end < roles.size() && !is(end, kMistralEnd) && !is(end, kAsk)) ++end;
            end += is(end, kMistralEnd);
            fill(answer, end, "assistant");
            i = end;
        } else {
            ++i;
        }
    }
    return roles;
}

}  // namespace headlight::text
