// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/single_token.h"

#include "headlight/base/error.h"

#include <algorithm>
#include <charconv>

namespace headlight::text {
namespace {

bool is_number(std::string_view typed) {
    return !typed.empty() && std::all_of(typed.begin(), typed.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string listed(const Tokenizer& tokenizer, const std::vector<std::int64_t>& ids) {
    std::string text;
    for (const std::int64_t id : ids)
        text += (text.empty() ? "" : ", ") + std::to_string(id) + " (" + token_label(tokenizer, id) + ")";
    return text.empty() ? "no token" : text;
}

}  // namespace

std::int64_t single_token(const Tokenizer& tokenizer, std::string_view typed, std::int64_t vocab_size) {
    if (is_number(typed)) {
        std::int64_t id = -1;
        const auto [end, problem] = std::from_chars(typed.data(), typed.data() + typed.size(), id);
        if (problem == std::errc() && id < vocab_size) return id;
        throw Error({.problem = "There is no such token in this model",
                     .expected = "an id from 0 to " + std::to_string(vocab_size - 1) + ", or a text",
                     .found = std::string(typed)});
    }
    if (const auto id = tokenizer.id_of(typed); id && *id < vocab_size) return *id;
    const std::vector<std::int64_t> plain = tokenizer.encode(typed, std::nullopt, false).ids;
    if (plain.size() == 1) return plain.front();
    if (!typed.empty() && typed.front() != ' ') {
        const std::vector<std::int64_t> spaced = tokenizer.encode(" " + std::string(typed), std::nullopt, false).ids;
        if (spaced.size() == 1) return spaced.front();
    }
    throw Error({.problem = "\"" + std::string(typed) + "\" is not one token of this model",
                 .expected = "a text that is a single token, or an id",
                 .found = listed(tokenizer, plain),
                 .hint = "Take one of these, by its id"});
}

}  // namespace headlight::text
