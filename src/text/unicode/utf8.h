// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headlight::text::utf8 {

inline bool is_ascii(unsigned char b) noexcept { return b < 0x80; }
inline bool is_continuation(char b) noexcept { return (static_cast<unsigned char>(b) & 0xC0) == 0x80; }

/// Bytes of the character that starts with `lead`. Only for text that was checked.
inline std::size_t length(char lead) noexcept {
    const auto b = static_cast<unsigned char>(lead);
    return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
}

/// The character at `at` of checked text, and moves `at` after it.
inline char32_t next(std::string_view s, std::size_t& at) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(s[at + i])); };
    const char32_t lead = byte(0);
    char32_t c = lead;
    std::size_t n = 1;
    if (lead >= 0xF0) {
        c = (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
        n = 4;
    } else if (lead >= 0xE0) {
        c = (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
        n = 3;
    } else if (lead >= 0x80) {
        c = (lead & 0x1F) << 6 | (byte(1) & 0x3F);
        n = 2;
    }
    at += n;
    return c;
}

/// First byte of the character that `at` lies in.
inline std::size_t floor(std::string_view s, std::size_t at) noexcept {
    while (at > 0 && at < s.size() && is_continuation(s[at])) --at;
    return at;
}
/// The nearest character boundary at or after `at`.
inline std::size_t ceil(std::string_view s, std::size_t at) noexcept {
    while (at < s.size() && is_continuation(s[at])) ++at;
    return at;
}

/// Length of the valid character at `at`, or 0 (overlong forms, surrogates and values above U+10FFFF are not valid).
std::size_t valid_length(std::string_view s, std::size_t at) noexcept;
/// Where the first invalid byte is; nothing when all of `s` is UTF-8.
std::optional<std::size_t> first_invalid(std::string_view s) noexcept;
/// Position of the first byte that is not ASCII at or after `from`; size() when there is none.
std::size_t find_non_ascii(std::string_view s, std::size_t from) noexcept;

void append(std::string& out, char32_t c);
std::string encode(char32_t c);
std::size_t count(std::string_view s) noexcept;  ///< characters in checked text

}  // namespace headlight::text::utf8
