// SPDX-License-Identifier: GPL-3.0-or-later
// Searches for tokens in all heads at once.
#pragma once

#include "headlight/map/query_key_map.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headlight::map {

enum class SearchKind { token, substring, regex, positions, part_of_speech };
inline constexpr EnumRow<SearchKind> search_kinds[] = {
    {SearchKind::token, "token", "Token", "the whole token, in any case"},
    {SearchKind::substring, "substring", "Part of a token", "anywhere in the token, in any case"},
    {SearchKind::regex, "regex", "Regular expression", "ICU's, anywhere in the token, in any case"},
    {SearchKind::positions, "positions", "Positions", "\"3\" or \"0-9\", from 0"},
    {SearchKind::part_of_speech, "part-of-speech", "Part of speech", "\"VERB\" or \"NOUN,PROPN\", of a treebank"}};
constexpr const auto& enum_rows(SearchKind) { return search_kinds; }

/// How a token's text is compared: as the tokenizer's bytes_of(id) gives it; white space at its ends does not count. Case is
/// folded for ASCII letters.
using TokenText = std::function<std::string(std::int64_t id)>;
/// [token] 1: a hit. An empty text hits nothing. Errors: a regular expression or positions that cannot be read, an expression
/// that takes more than 100,000 steps on a token, a part of speech that Universal Dependencies has not, or texts without them.
std::vector<std::uint8_t> find_tokens(const MapTokens&, SearchKind, const std::string& sought, const TokenText& = {});
/// [point] the same for a map: of its queries, then of its keys.
std::vector<std::uint8_t> find_points(const QueryKeyMap&, SearchKind, const std::string& sought, const TokenText& = {});

/// How closely hits cluster in one head.
struct HeadHits {
    std::size_t head = 0;  ///< in QueryKeyMap::heads
    double dispersion =
        0;  ///< mean distance of pairs of hits over that of pairs of any points, mean over queries and keys; NaN below 2 hits
};
/// The tightest first; NaN last. Hits that are apart do not count. At most 2,000 pairs of each kind are drawn, with a fixed
/// seed.
std::vector<HeadHits> heads_by_tightness(const QueryKeyMap&, std::span<const std::uint8_t> hits);

}  // namespace headlight::map
