// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// GPT-2's alphabet of 256 printable characters, one for each byte value (Radford et al. 2019, "Language Models are
/// Unsupervised Multitask Learners", released code): printable Latin-1 bytes stand for themselves, the others are
/// numbered from U+0100.
namespace headlight::text::byte_alphabet {

/// The character of a byte, in UTF-8.
const std::string& of(unsigned char byte) noexcept;
std::optional<unsigned char> byte_of(char32_t c) noexcept;
/// The bytes after a vocabulary string; nothing when it has a character outside the alphabet.
std::optional<std::string> decode(std::string_view token);

}  // namespace headlight::text::byte_alphabet

namespace headlight::text {

/// The bytes of a text in base64 (RFC 4648); nothing where it is not that.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace headlight::text
