// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/unicode/byte_alphabet.h"

#include "text/unicode/utf8.h"

#include <array>

namespace headlight::text::byte_alphabet {
namespace {

struct Tables {
    std::array<std::string, 256> strings;
    std::array<int, 512> bytes{};

    Tables() {
        bytes.fill(-1);
        char32_t next = 0x100;
        for (unsigned b = 0; b < 256; ++b) {
            const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
            const char32_t c = printable ? static_cast<char32_t>(b) : next++;
            strings[b] = utf8::encode(c);
            bytes[c] = static_cast<int>(b);
        }
    }
};

const Tables& tables() noexcept {
    static const Tables t;
    return t;
}

}  // namespace

const std::string& of(unsigned char byte) noexcept { return tables().strings[byte]; }

std::optional<unsigned char> byte_of(char32_t c) noexcept {
    if (c >= 512 || tables().bytes[c] < 0) return std::nullopt;
    return static_cast<unsigned char>(tables().bytes[c]);
}

std::optional<std::string> decode(std::string_view token) {
    std::string out;
    for (std::size_t i = 0; i < token.size();) {
        const auto byte = byte_of(utf8::next(token, i));
        if (!byte) return std::nullopt;
        out += static_cast<char>(*byte);
    }
    return out;
}

}  // namespace headlight::text::byte_alphabet

namespace headlight::text {

std::optional<std::string> from_base64(std::string_view text) {
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t bits = 0;
    int have = 0;
    while (text.ends_with('=')) text.remove_suffix(1);
    for (const char c : text) {
        const std::size_t value = kAlphabet.find(c);
        if (value == kAlphabet.npos) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        bytes += static_cast<char>(bits >> have & 0xff);
    }
    return bytes;
}

}  // namespace headlight::text
