// SPDX-License-Identifier: GPL-3.0-or-later
// Texts whose parts have separators between them, and numbers in texts.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace headlight::corpus {

/// A text without a separator is its only part, even an empty one.
template <class Part = std::string_view>
std::vector<Part> split(std::string_view text, char separator) {
    std::vector<Part> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

/// The number that the whole text is.
template <class Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
    Number value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return code == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

inline std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
    std::string text;
    for (const std::string& part : parts) text.append(text.empty() ? "" : separator).append(part);
    return text;
}

}  // namespace headlight::corpus
