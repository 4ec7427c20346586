// SPDX-License-Identifier: GPL-3.0-or-later
// A map of texts, its look and its file: what `headlight map` and the window's page write.
#pragma once

#include "headlight/base/fields.h"
#include "headlight/figure/export/export.h"
#include "headlight/figure/map/map_figure.h"
#include "headlight/map/gather/gather.h"
#include "headlight/map/options.h"
#include "headlight/map/search/search.h"
#include "headlight/model/model.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace headlight::figure {

struct MapRequest {
    std::string texts, text;        ///< a file, folder or store, of texts or pictures; or one text
    std::string dtype = "float32";  ///< of the model's computation
    map::GatherOptions gather;
    map::MapOptions options;
    map::SearchKind mark_by = map::SearchKind::token;
    std::string mark;  ///< search for tokens to highlight; empty: none
    MapLook look;
    ExportOptions output;
};

/// What is drawn of the texts, and how it is projected. Seeds: that of the options, which is the gathering's too.
template <class Gather, class Options, class Visit>
void describe_projection(Gather& gather, Options& o, const Visit& field) {
    using map::Preset, map::Projection;
    field(Field{"method", "Projection", "how points are projected"}.written(), o.projection);
    field(Field{"dims", "Dimensions", "axes of the picture: 2 or 3"}.within(2, 3), o.dims);
    field(Field{"preset", "Nearness",
                "definition of nearness: the largest scores, scaled distance, or the cosine (AttentionViz without its factor c)"}
              .written(),
          o.preset);
    field(Field{"factor", "Scale", "the factor of queries in the presets scores and balanced"}.when(
              o.preset != Preset::cosine, "--preset scores and balanced"),
          o.scale);
    field(Field{"tokens", "Tokens at most", "whole texts are drawn up to this many tokens; 0: all"}
              .within(0, 1'000'000'000)
              .or_if_empty("all"),
          gather.budget);
    field(
        Field{"seed", "Seed", "seed of the choice of texts, of t-SNE and of UMAP"}.within(0, 2'147'483'647).called("S").written(),
        o.seed);
    field(Field{"rotated", "After the rotation by positions",
                "rotary models: queries and keys after the rotation, whose products have the distance of the tokens in them"},
          gather.rotated);
    field(Field{"attention", "Attention", "encoder-decoder models: whose attention"}, gather.stack);
    field(Field{"with-apart", "Count first and special tokens",
                "first and special tokens, which are attention sinks, count like all others: in axes, neighbours and quality"},
          o.with_apart);
    field(Field{"perplexity", "Perplexity", "of t-SNE (default: 30; cosine: 50)"}
              .within(0, 1'000'000)
              .called("X")
              .or_if_empty("default of the preset")
              .when(o.projection == Projection::tsne, "--method tsne"),
          o.perplexity);
    field(Field{"iterations", "Iterations", "of t-SNE (default: 750) or UMAP (default: 500, 200 above 10,000 points)"}
              .within(0, 1'000'000)
              .or_if_empty("default of the method")
              .when(o.projection != Projection::pca, "--method tsne and umap"),
          o.iterations);
}

/// What a picture of the map looks like, of this many dimensions.
template <class Look, class Visit>
void describe_look(Look& look, int dims, const Visit& field) {
    field(Field{"color", "Colour", "pictures: the meaning of a point's colour"}, look.color);
    field(Field{"queries", "Queries", "pictures without queries"}.on(), look.queries);
    field(Field{"keys", "Keys", "pictures without keys"}.on(), look.keys);
    field(Field{"apart", "First and special tokens", "pictures without first and special tokens"}.on(), look.apart);
    field(Field{"size-by-norm", "Size by length of the vector", "pictures of one head: longer vectors are larger"},
          look.size_by_norm);
    field(Field{"token-labels", "Tokens next to points", "pictures of one head: no tokens next to points"}.on(),
          look.token_labels);
    field(Field{"region-labels", "Names of regions", "pictures of one head: no names of regions"}.on(), look.region_labels);
    field(Field{"thumbnails", "Patches of pictures", "maps of pictures: draw points instead of patches"}.on(), look.thumbnails);
    const auto turn = [&](const Field& f, auto& angle) {
        field(f.within(-360, 360).called("DEGREES").when(dims == 3, "--dims 3"), angle);
    };
    turn(Field{"yaw", "Turn", "pictures of --dims 3: turned about the upright axis"}, look.yaw);
    turn(Field{"pitch", "Tilt", "pictures of --dims 3: then about the horizontal axis"}, look.pitch);
}

void describe(Describes<MapRequest> auto& r, const auto& field) {
    describe_projection(r.gather, r.options, field);
    describe_look(r.look, r.options.dims, field);
    field(Field{"mark", "Search", "pictures: tokens to highlight; the others are grey"}.called("SEARCH"), r.mark);
    field(Field{"mark-by", "Kind of search", "how --mark is read"}.when(!r.mark.empty(), "--mark"), r.mark_by);
}

/// With the command that reproduces the file. A lasso, a zoom and pointer selections are not part of it.
Provenance map_provenance(const model::Model&, const map::QueryKeyMap&, const MapRequest&, const std::string& format);

/// Marks the points of tokens found: `hits` as from map::find_points(), `ranked` from map::heads_by_tightness().
void mark_points(MapLook&, const map::QueryKeyMap&, std::vector<std::uint8_t> hits, const std::vector<map::HeadHits>& ranked,
                 const QString& sought);

}  // namespace headlight::figure
