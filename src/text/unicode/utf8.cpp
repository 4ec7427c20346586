// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/unicode/utf8.h"

#include <algorithm>
#include <cstring>

namespace headlight::text::utf8 {

std::size_t valid_length(std::string_view s, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) -> unsigned { return at + i < s.size() ? static_cast<unsigned char>(s[at + i]) : 0u; };
    const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const unsigned b = byte(0);
    if (b < 0x80) return at < s.size() ? 1 : 0;
    if (b >= 0xC2 && b <= 0xDF) return tail(1) ? 2 : 0;
    if (b >= 0xE0 && b <= 0xEF) {
        if (!tail(1) || !tail(2)) return 0;
        if (b == 0xE0 && byte(1) < 0xA0) return 0;
        if (b == 0xED && byte(1) > 0x9F) return 0;  // surrogates
        return 3;
    }
    if (b >= 0xF0 && b <= 0xF4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        if (b == 0xF0 && byte(1) < 0x90) return 0;
        if (b == 0xF4 && byte(1) > 0x8F) return 0;
        return 4;
    }
    return 0;
}

std::size_t find_non_ascii(std::string_view s, std::size_t from) noexcept {
    std::size_t i = from;
    for (; i + 8 <= s.size(); i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, s.data() + i, 8);
        if (word & 0x8080808080808080ULL) break;
    }
    while (i < s.size() && is_ascii(static_cast<unsigned char>(s[i]))) ++i;
    return i;
}

std::optional<std::size_t> first_invalid(std::string_view s) noexcept {
    for (std::size_t i = find_non_ascii(s, 0); i < s.size();) {
        const std::size_t n = valid_length(s, i);
        if (n == 0) return i;
        i += n;
        if (i < s.size() && is_ascii(static_cast<unsigned char>(s[i]))) i = find_non_ascii(s, i);
    }
    return std::nullopt;
}

void append(std::string& out, char32_t c) {
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0 | (c >> 6));
        out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0 | (c >> 12));
        out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (c & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | (c >> 18));
        out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
        out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (c & 0x3F));
    }
}

std::string encode(char32_t c) {
    std::string out;
    append(out, c);
    return out;
}

std::size_t count(std::string_view s) noexcept {
    return static_cast<std::size_t>(std::count_if(s.begin(), s.end(), [](char b) { return !is_continuation(b); }));
}

}  // namespace headlight::text::utf8
