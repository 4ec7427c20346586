// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/recipe/reader.h"

#include "headlight/base/error.h"

#include <charconv>
#include <cmath>

namespace headlight::intervention {

void fail_in_words(std::string_view text, std::size_t column, const std::string& problem, const std::string& expected,
                   const std::string& found, const std::string& right) {
    throw Error({.problem = problem,
                 .item = "column " + std::to_string(column) + " of \"" + std::string(text) + "\"",
                 .expected = expected,
                 .found = found.empty() ? "nothing" : "\"" + found + "\"",
                 .hint = right.empty() ? "" : "Did you mean \"" + right + "\"?"});
}

std::vector<Word> words_in(std::string_view text) {
    std::vector<Word> words;
    std::size_t at = 0;
    while (at < text.size()) {
        if (text[at] == ' ' || text[at] == '\t' || text[at] == '\n') {
            ++at;
            continue;
        }
        Word word{.text = {}, .column = at + 1, .quoted = text[at] == '"'};
        if (!word.quoted) {
            while (at < text.size() && text[at] != ' ' && text[at] != '\t' && text[at] != '\n') word.text += text[at++];
        } else {
            const std::size_t opened = at++;
            ++word.column;
            while (at < text.size() && text[at] != '"') {
                if (text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\')) ++at;
                word.text += text[at++];
            }
            if (at == text.size()) fail_in_words(text, opened + 1, "A quotation mark is never closed", "another \"", "\"", {});
            ++at;
        }
        words.push_back(std::move(word));
    }
    return words;
}

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

std::optional<double> number_in(std::string_view word) {
    double value = 0;
    const char* first = word.data();
    const char* last = first + word.size();
    if (first != last && *first == '+') ++first;
    const auto [end, error] = std::from_chars(first, last, value);
    if (error != std::errc() || end != last || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::string number_word(double value) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    return error == std::errc() ? std::string(text, end) : std::string();
}

std::int64_t Reader::number(const char* expected) {
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; peek() >= '0' && peek() <= '9'; skip(), ++digits) {
        value = value * 10 + (peek() - '0');
        if (digits > 8) fail("The number is too large", "fewer digits", std::string(word_));
    }
    if (digits == 0) fail("A number is missing", expected, rest());
    return value;
}

}  // namespace headlight::intervention
