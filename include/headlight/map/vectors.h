// SPDX-License-Identifier: GPL-3.0-or-later
// The vectors behind a map.
#pragma once

#include "headlight/map/projection/pca.h"
#include "headlight/map/query_key_map.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headlight::map {

/// One head over all tokens. Heads that read one key/value head share its keys.
struct HeadVectors {
    Layer layer{};
    Head head{};
    std::int64_t width = 0;
    std::shared_ptr<const std::vector<float>> queries{};  ///< [query token, width]
    std::shared_ptr<const std::vector<float>> keys{};     ///< [key token, width]
    double score_scale = 1;                               ///< attention's scores are this times q·k (and position terms)
    std::int64_t window = 0;                              ///< queries attend only to keys nearer than this; 0: no limit
    std::string broken{};                                 ///< not_finite(): the reason why no picture can be made

    Rows query_rows() const { return {*queries, width > 0 ? std::ssize(*queries) / width : 0, width}; }
    Rows key_rows() const { return {*keys, width > 0 ? std::ssize(*keys) / width : 0, width}; }
};

/// Queries and keys of the chosen heads. Immutable, shared by pointer.
struct MapVectors {
    MapTokens tokens;
    MapTokens source{};              ///< of the keys of cross attention; else empty
    std::vector<HeadVectors> heads;  ///< by layer, then head
    std::int64_t layers = 0, heads_per_layer = 0;
    bool causal = false, rotated = false;
    std::string model;
    std::vector<std::string> notes{};               ///< for captions: score terms missing from q·k, which part is mapped
    std::vector<std::string> texts{};               ///< [text] as it was read; of an encoder-decoder model the source
    std::shared_ptr<const MapPictures> pictures{};  ///< null: the tokens are those of texts

    const MapTokens& key_tokens() const noexcept { return source.tokens.empty() ? tokens : source; }
    bool crossed() const noexcept { return !source.tokens.empty(); }
};

/// "The query of token 3 holds NaN"; empty if all numbers are finite.
std::string not_finite(const HeadVectors&);

/// Tokens of one text: [first, second).
using TokenRange = std::pair<std::int64_t, std::int64_t>;
/// [text] the tokens of each text.
std::vector<TokenRange> text_ranges(const MapTokens&);
/// Keys that a query may attend to, among the tokens of its own text: `ranges` of the key tokens.
TokenRange legal_keys(const MapVectors&, const HeadVectors&, const std::vector<TokenRange>& ranges, std::int64_t query);

}  // namespace headlight::map
