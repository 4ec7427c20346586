// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/map/query_key_map.h"

#include <cstdint>

namespace headlight::map {

/// How the factor c of queries (keys are divided by it) is chosen.
enum class ScaleChoice { norms, search };
inline constexpr EnumRow<ScaleChoice> scale_choices[] = {
    {ScaleChoice::norms, "norms", "Equal norms", "c = sqrt(mean |k| / mean |q|)"},
    {ScaleChoice::search, "search", "Search", "the c whose distances follow the scores of near pairs best"}};
constexpr const auto& enum_rows(ScaleChoice) { return scale_choices; }

/// How given queries and keys are drawn.
struct MapOptions {
    Preset preset = Preset::scores;
    Projection projection = Projection::pca;
    int dims = 2;
    ScaleChoice scale = ScaleChoice::norms;  ///< for the presets `scores` and `balanced`; `cosine` has c = 1
    double perplexity = 0;                   ///< t-SNE; 0: 30, or 50 for `cosine`; at most a third of the points
    int iterations = 0;                      ///< 0: 750 for t-SNE, 500 for UMAP (200 above 10,000 points)
    int neighbours = 15;                     ///< UMAP, counting the point itself
    double min_dist = 0.1;                   ///< UMAP
    std::uint64_t seed = 0;
    bool with_apart = false;  ///< first and special tokens count like all others

    bool operator==(const MapOptions&) const = default;
};

/// The perplexity that is used.
double perplexity_of(const MapOptions&) noexcept;

}  // namespace headlight::map
