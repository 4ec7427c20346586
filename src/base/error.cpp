// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"

#include <algorithm>
#include <utility>

namespace headlight {
namespace {

/// Names and values come from files: one of 400,000 characters is cut, in a list of others too.
constexpr std::size_t kLongestWord = 200, kLongestField = 2000;

std::string clipped(const std::string& text, std::size_t longest) {
    if (text.size() <= longest) return text;
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a character
    return text.substr(0, end) + "…";
}

std::string clipped(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size() && out.size() <= kLongestField;) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        out += clipped(text.substr(at, end - at), kLongestWord);
        if (end < text.size()) out += ' ';
        at = end + 1;
    }
    return clipped(out, kLongestField);
}

ErrorFacts clipped(ErrorFacts facts) {
    for (std::string* field : {&facts.problem, &facts.item, &facts.expected, &facts.hint}) *field = clipped(*field);
    facts.found = clipped(clipped(facts.found), kLongestWord);
    return facts;
}

std::string compose(const ErrorFacts& f) {
    std::string text = f.problem;
    if (!f.file.empty()) text += ": " + f.file;
    if (!f.item.empty()) text += (f.file.empty() ? ": " : ", ") + f.item;
    if (!f.expected.empty()) text += ": expected " + f.expected;
    if (!f.found.empty()) text += (f.expected.empty() ? ": found " : ", found ") + f.found;
    if (!f.hint.empty()) text += ". " + f.hint;
    return text;
}

}  // namespace

Error::Error(ErrorFacts facts) : std::runtime_error(compose(clipped(facts))), facts_(clipped(std::move(facts))) {}

Error::Error(const std::string& problem) : Error(ErrorFacts{.problem = problem}) {}

}  // namespace headlight
