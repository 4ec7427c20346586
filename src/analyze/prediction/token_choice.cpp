// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/token_choice.h"

#include "headlight/base/error.h"

#include <algorithm>
#include <charconv>

namespace headlight::analyze {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Has a sign that labels have in place of bytes: of other texts no entry of the vocabulary needs to be looked at.
bool is_written_by_figures(const std::string& text) {
    const std::string_view signs[] = {"·", "⏎", "⇥", "␍", "␡", "◌", "‹", "<0x", "<U+"};
    return std::any_of(std::begin(signs), std::end(signs), [&](std::string_view sign) { return text.find(sign) != text.npos; });
}

std::string described(const text::Tokenizer& tokenizer, std::int64_t id) {
    return text::token_label(tokenizer, id) + " (" + std::to_string(id) + ")";
}

std::string parts(const text::Tokenizer& tokenizer, const std::vector<std::int64_t>& ids) {
    std::string all;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i == 8 && ids.size() > 9) return all + ", …";
        all += (i ? ", " : "") + described(tokenizer, ids[i]);
    }
    return all;
}

TokenChoice by_id(const text::Tokenizer& tokenizer, std::int64_t vocab_size, std::string_view typed, const std::string& option) {
    std::int64_t id = -1;
    const auto result = std::from_chars(typed.data(), typed.data() + typed.size(), id);
    if (result.ec != std::errc{} || id >= vocab_size)
        throw Error({.problem = "There is no such token",
                     .item = option,
                     .expected = "an id from 0 to " + std::to_string(vocab_size - 1),
                     .found = std::string(typed),
                     .hint = "Digits alone are an id; write a space before them for the text"});
    TokenChoice found{.id = id, .label = text::token_label(tokenizer, id), .note = {}};
    if (const auto as_text = tokenizer.encode(std::string(typed), std::nullopt, false).ids;
        as_text.size() == 1 && as_text[0] != id)
        found.note = "\"" + std::string(typed) + "\" is taken as the id of " + described(tokenizer, id) + "; the text is " +
                     described(tokenizer, as_text[0]);
    return found;
}

}  // namespace

TokenChoice choose_token(const text::Tokenizer& tokenizer, std::int64_t vocab_size, std::string_view typed,
                         const std::string& option, Digits digits) {
    if (typed.empty())
        throw Error({.problem = "A token is needed", .item = option, .hint = "Give an id, or text that is one token"});
    if (digits == Digits::id && is_number(typed)) return by_id(tokenizer, vocab_size, typed, option);
    const auto in_model = [&](std::int64_t id) { return id >= 0 && id < vocab_size; };
    const std::string text(typed), spaced = " " + text;
    const std::vector<std::int64_t> plain = tokenizer.encode(text, std::nullopt, false).ids;
    const bool can_have_space = text.front() != ' ';
    const std::vector<std::int64_t> behind_space =
        can_have_space ? tokenizer.encode(spaced, std::nullopt, false).ids : std::vector<std::int64_t>{};
    const std::string quoted = "\"" + text + "\" is taken as ";
    if (plain.size() == 1 && in_model(plain[0])) {
        TokenChoice found{.id = plain[0], .label = text::token_label(tokenizer, plain[0]), .note = {}};
        if (behind_space.size() == 1 && behind_space[0] != plain[0] && in_model(behind_space[0])) {
            found.other = behind_space[0];
            found.note = quoted + described(tokenizer, plain[0]) + ", without a leading space; with one it is " +
                         described(tokenizer, behind_space[0]);
        }
        return found;
    }
    if (behind_space.size() == 1 && in_model(behind_space[0]))
        return {behind_space[0], text::token_label(tokenizer, behind_space[0]),
                quoted + described(tokenizer, behind_space[0]) + ", with a leading space"};
    if (const auto id = tokenizer.id_of(typed); id && in_model(*id))
        return {*id, text::token_label(tokenizer, *id), quoted + "the vocabulary's own " + described(tokenizer, *id)};
    for (std::int64_t id = 0; is_written_by_figures(text) && id < std::min(vocab_size, tokenizer.vocab_size()); ++id)
        if (text::token_label(tokenizer, id) == text) return {id, text, {}};
    throw Error(
        {.problem = plain.empty() ? "This text has no token" : "This text is more than one token",
         .item = option,
         .expected = "one token",
         .found = "\"" + text + "\" = " + parts(tokenizer, plain) +
                  (behind_space.empty() || behind_space == plain ? std::string()
                                                                 : "; with a leading space " + parts(tokenizer, behind_space)),
         .hint = "Choose one of these by its id"});
}

}  // namespace headlight::analyze
