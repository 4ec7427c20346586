// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/token_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace headlight::cli {
namespace {

nlohmann::ordered_json number_or_null(std::int64_t value) {
    return value < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

}  // namespace

std::string token_json(const text::Encoding& encoding) {
    using nlohmann::ordered_json;
    ordered_json offsets = ordered_json::array(), special = ordered_json::array(), words = ordered_json::array(),
                 sequences = ordered_json::array();
    for (const text::ByteRange range : encoding.offsets) offsets.push_back({range.begin, range.end});
    for (const bool is_special : encoding.special) special.push_back(is_special);
    for (const std::int64_t word : encoding.words) words.push_back(number_or_null(word));
    for (const std::int64_t sequence : encoding.sequence) sequences.push_back(number_or_null(sequence));
    ordered_json json;
    json["ids"] = encoding.ids;
    json["tokens"] = encoding.tokens;
    json["offsets"] = std::move(offsets);
    json["special"] = std::move(special);
    json["words"] = std::move(words);
    if (std::find(encoding.sequence.begin(), encoding.sequence.end(), 1) != encoding.sequence.end())
        json["sequences"] = std::move(sequences);
    // A vocabulary is data from outside: invalid UTF-8 becomes U+FFFD instead of an error.
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace headlight::cli
