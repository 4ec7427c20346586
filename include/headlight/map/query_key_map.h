// SPDX-License-Identifier: GPL-3.0-or-later
// The map of all queries and keys: every query and key of a head as a point in one picture (Yeh et al. 2023, AttentionViz).
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/base/ids.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace headlight::map {

/// The definition of nearness in a map. `scores`: neighbours by q·k over all texts, half of P, and by distance in the same
/// role, the other half. `balanced`: both clouds centred, q·c and k/c, Euclidean distance. `cosine`: keys moved onto the
/// queries' mean, cosine distance, as in the notebook that made the data of AttentionViz; the paper (Yeh et al. 2023) also
/// multiplies queries by a searched factor, and divides keys by it, before it moves them.
enum class Preset { scores, balanced, cosine };
inline constexpr EnumRow<Preset> presets[] = {
    {Preset::scores, "scores", "Scores", "neighbours by q·k over all texts, and by distance in the same role"},
    {Preset::balanced, "balanced", "Balanced", "both clouds centred, q·c and k/c, Euclidean distance"},
    {Preset::cosine, "cosine", "Cosine",
     "keys moved onto the mean of the queries, cosine distance: AttentionViz without its factor c"}};
constexpr const auto& enum_rows(Preset) { return presets; }
/// Its earlier name, in scripts and sessions.
inline constexpr EnumAlias<Preset> preset_aliases[] = {{"attentionviz", Preset::cosine}};
constexpr const auto& enum_aliases(Preset) { return preset_aliases; }

enum class Projection { pca, tsne, umap };
inline constexpr EnumRow<Projection> projections[] = {
    {Projection::pca, "pca", "PCA", "the axes of the largest variance"},
    {Projection::tsne, "tsne", "t-SNE", "neighbours stay neighbours; distances between clusters mean little"},
    {Projection::umap, "umap", "UMAP", "neighbours stay neighbours; clusters are drawn apart"}};
constexpr const auto& enum_rows(Projection) { return projections; }

/// The tokens of all texts, in the order of the texts; every head of a map has a query and a key for each.
struct MapTokens {
    std::vector<std::string> tokens;      ///< [token] as the tokenizer spells them
    std::vector<std::int64_t> token_ids;  ///< [token]
    std::vector<std::int32_t> text;       ///< [token] number of its text
    std::vector<std::int32_t> position;   ///< [token] position within its text
    std::vector<std::uint8_t> apart;      ///< [token] 1: first or special token, kept out of the scale of the picture
    std::vector<std::string> tags{};      ///< [token] part of speech of its word (UPOS), "" where it has none; empty: not known
    std::vector<std::string> names;       ///< [text] name or start of each text
    std::int64_t left_out = 0;            ///< texts that did not fit the budget
};

/// One head's picture. Points are queries [0, T) and then keys [T, 2T), in the order of MapTokens; in the cross attention of an
/// encoder-decoder model the keys are [T, T + S), in the order of QueryKeyMap::source.
struct HeadMap {
    Layer layer{};
    Head head{};
    int dims = 2;               ///< 2 or 3
    std::vector<float> points;  ///< [2T, dims]
    std::vector<float> norms;   ///< [2T] of the vectors that attention multiplies
    std::vector<float> trust;   ///< [2T] share of a point's 15 neighbours that are its neighbours in the picture; NaN if apart;
                                ///< empty until measured
    std::vector<float> explained;  ///< [dims] share of the variance (only for PCA; else empty)
    float scale_c = 1;             ///< queries times c, keys divided by it: scores do not change
    float trustworthiness = 0;     ///< Venna & Kaski 2001, k = 15
    float continuity = 0;
    float faithfulness = 0;  ///< mean over queries with at least 3 keys of Spearman(score, -distance) over them; of the same text
    float attention_near = 0;  ///< share of the attention that the 10 nearest keys of the same text receive, mean over queries
    float divergence = 0;      ///< KL of t-SNE, without exaggeration; NaN for the others
    int iterations = 0;        ///< completed so far
    int iterations_wanted = 0;
    std::string poor;  ///< why the picture should not be trusted; empty if it can be
};

/// The numbers of a picture with their names in files.
inline constexpr std::pair<const char*, float HeadMap::*> head_numbers[] = {{"scale_c", &HeadMap::scale_c},
                                                                            {"trustworthiness", &HeadMap::trustworthiness},
                                                                            {"continuity", &HeadMap::continuity},
                                                                            {"faithfulness", &HeadMap::faithfulness},
                                                                            {"attention_near", &HeadMap::attention_near},
                                                                            {"divergence", &HeadMap::divergence}};

struct MapPictures;

struct QueryKeyMap {
    MapTokens tokens;            ///< the tokens of the queries, and of the keys if `source` is empty
    MapTokens source{};          ///< cross attention: the tokens of the keys, with the same text numbers
    std::vector<HeadMap> heads;  ///< by layer, then head
    std::int64_t layers = 0, heads_per_layer = 0;
    Preset preset = Preset::scores;
    Projection projection = Projection::pca;
    bool rotated = false;  ///< queries and keys after the rotation
    std::uint64_t seed = 0;
    std::string model{};                            ///< its name
    std::vector<std::string> notes{};               ///< for the caption: score terms missing from q·k, which part is mapped
    std::shared_ptr<const MapPictures> pictures{};  ///< null: the tokens are those of texts
};

inline const MapTokens& key_tokens(const QueryKeyMap& map) noexcept {
    return map.source.tokens.empty() ? map.tokens : map.source;
}
inline std::size_t query_count(const QueryKeyMap& map) noexcept { return map.tokens.tokens.size(); }
inline std::size_t point_count(const QueryKeyMap& map) noexcept { return query_count(map) + key_tokens(map).tokens.size(); }

}  // namespace headlight::map
