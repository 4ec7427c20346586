// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/unicode/byte_alphabet.h"

#include "text/unicode/utf8.h"

#include <array>

namespace headlight::text::byte_alphabet {
namespace {

struct Tables {
    std::array<char32_t, 256> chars{};
    std::array<std::string, 256> strings;
    std::array<int, 512> bytes{};

    Tables() {
        bytes.fill(-1);
        char32_t next = 0x100;
        for (unsigned b = 0; b < 256; ++b) {
            const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
            chars[b] = printable ? static_cast<char32_t>(b) : next++;
            strings[b] = utf8::encode(chars[b]);
            bytes[chars[b]] = static_cast<int>(b);
        }
    }
};

const Tables& tables() noexcept {
    static const Tables t;
    return t;
}

}  // namespace

char32_t char_of(unsigned char byte) noexcept { return tables().chars[byte]; }

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
