// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/store/place.h"

#include "text/unicode/utf8.h"

#include <algorithm>

namespace headlight::corpus {

Place place_in(const Chunk& chunk, const Text& text, std::int64_t position, std::int64_t bytes_before, std::int64_t bytes_after) {
    const auto offsets = chunk.encoding.offsets.at(static_cast<std::size_t>(position));
    const std::int64_t begin = chunk.first_byte + offsets.begin, end = std::max(begin, chunk.first_byte + offsets.end);
    const auto whole_characters = [&](std::int64_t at) {
        return static_cast<std::int64_t>(headlight::text::utf8::floor(text.text, static_cast<std::size_t>(at)));
    };
    const std::int64_t from = whole_characters(std::max(chunk.first_byte, begin - bytes_before)),
                       to = whole_characters(std::min(chunk.end_byte, end + bytes_after));
    const auto part = [&](std::int64_t a, std::int64_t b) {
        return text.text.substr(static_cast<std::size_t>(a), static_cast<std::size_t>(std::max<std::int64_t>(b - a, 0)));
    };
    return {.before = part(from, begin),
            .token = part(begin, end),
            .after = part(end, to),
            .cut_before = from > chunk.first_byte,
            .cut_after = to < chunk.end_byte};
}

}  // namespace headlight::corpus
