// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/tokenizer.h"
#include "text/unicode/unicode.h"
#include "text/unicode/utf8.h"

#include <unicode/uchar.h>

namespace headlight::text {
namespace {

std::string_view trimmed_line(std::string_view text) {
    const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

bool only_punctuation(std::string_view text) {
    if (text.empty()) return false;
    for (std::size_t at = 0; at < text.size();)
        if (!u_ispunct(static_cast<UChar32>(utf8::next(text, at)))) return false;
    return true;
}

}  // namespace

Punctuation punctuation(const Tokenizer& tokenizer, const Encoding& encoding) {
    Punctuation found;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        const std::string bytes = tokenizer.bytes_of(encoding.ids[i]);
        const bool special = encoding.special[i] || tokenizer.is_special(encoding.ids[i]);
        // A piece of a character is no punctuation mark, whatever it is a piece of.
        const std::string_view text = special || utf8::first_invalid(bytes) ? std::string_view() : trimmed_line(bytes);
        found.period_or_comma.push_back(text == "." || text == ",");
        found.any.push_back(only_punctuation(text));
    }
    return found;
}

}  // namespace headlight::text
