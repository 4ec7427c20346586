// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/charsmap.h"

#include "headlight/base/numbers.h"
#include "text/unicode/byte_alphabet.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <cstring>

namespace headlight::text {
namespace {

std::size_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

}  // namespace

Charsmap::Charsmap(const Field& map) {
    std::optional<std::string> blob;
    if (map.json().is_binary())
        blob.emplace(map.json().get_binary().begin(), map.json().get_binary().end());
    else
        blob = from_base64(map.string());
    std::uint32_t size = 0;
    if (!blob || blob->size() < 4) map.fail("The table of replacements cannot be read", "base64 of a trie and its strings");
    std::memcpy(&size, blob->data(), 4);
    if (size > blob->size() - 4 || size % 4 != 0 || size == 0)
        map.fail("The table of replacements cannot be read", "a trie of at most " + bytes_text(blob->size() - 4),
                 std::to_string(size));
    units_.resize(size / 4);
    std::memcpy(units_.data(), blob->data() + 4, size);
    strings_ = blob->substr(4 + size);
    if (utf8::first_invalid(strings_)) map.fail("The table of replacements is not UTF-8");
}

/// Calls `found(place in strings_, bytes)` for the entries that `text` begins with, shortest first, until it returns true.
template <class F>
void Charsmap::walk(std::string_view text, F found) const {
    if (units_.empty()) return;
    std::size_t at = offset(units_[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte == 0) return;
        at ^= byte;
        if (at >= units_.size()) return;
        const std::uint32_t unit = units_[at];
        if ((unit & (0x80000000u | 0xffu)) != byte) return;
        at ^= offset(unit);
        if ((unit >> 8 & 1) == 0) continue;
        if (at >= units_.size()) return;
        const std::size_t begin = units_[at] & 0x7fffffffu;
        if (begin > strings_.size() || found(begin, i + 1)) return;
    }
}

std::optional<std::string_view> Charsmap::shortest(std::string_view text) const {
    std::optional<std::string_view> result;
    walk(text, [&](std::size_t begin, std::size_t) {
        result = std::string_view(strings_).substr(begin, std::min(strings_.find('\0', begin), strings_.size()) - begin);
        return true;
    });
    return result;
}

std::optional<Charsmap::Found> Charsmap::longest(std::string_view text) const {
    std::optional<Found> result;
    walk(text, [&](std::size_t begin, std::size_t size) {
        result = {std::string_view(strings_).substr(begin, std::min(strings_.find('\0', begin), strings_.size()) - begin), size};
        return false;
    });
    return result;
}

}  // namespace headlight::text
