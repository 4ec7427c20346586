// SPDX-License-Identifier: GPL-3.0-or-later
// Searches for tokens in all heads at once, and properties of heads that the map makes visible.
#pragma once

#include "headlight/base/job.h"
#include "headlight/map/vectors.h"
#include "headlight/model/model.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace headlight::map {

enum class SearchKind { token, substring, regex, positions };
inline constexpr EnumRow<SearchKind> search_kinds[] = {
    {SearchKind::token, "token", "Token", "the whole token, in any case"},
    {SearchKind::substring, "substring", "Part of a token", "anywhere in the token, in any case"},
    {SearchKind::regex, "regex", "Regular expression", "ECMAScript's, anywhere in the token, in any case"},
    {SearchKind::positions, "positions", "Positions", "\"3\" or \"0-9\", from 0"}};
constexpr const auto& enum_rows(SearchKind) { return search_kinds; }

/// How a token's text is compared: as the tokenizer's bytes_of(id) gives it; white space at its ends does not count. Case is
/// folded for ASCII letters.
using TokenText = std::function<std::string(std::int64_t id)>;
/// [token] 1: a hit. An empty text has no hits. Errors: an invalid regular expression or invalid positions.
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

/// Unusual properties of a head (Yeh et al. 2023). Tokens that are apart count only in the attention on first tokens.
struct HeadSigns {
    Layer layer{};
    Head head{};
    double norm_gap = 0;  ///< mean |q| - mean |k|
    double centre_distance =
        0;  ///< |mean q - mean k| over the root of the mean squared distance of points from their role's mean
    double first_attention =
        0;  ///< softmax(scale q·k) on the first token of the text, mean over later queries; masks and windows apply
    double similarity = 0;  ///< mean cosine of a token's own query and key, about their means
};
std::vector<HeadSigns> head_signs(const MapVectors&, const CancelToken& = {});

/// Cosine of W_q and W_k of a head, as two lists of numbers: near 1, tokens attend to similar tokens. NaN if their shapes
/// differ. [layer * heads + head]. Error for a model without weights.
std::vector<double> weight_similarity(const model::Model&, const CancelToken& = {});

}  // namespace headlight::map
