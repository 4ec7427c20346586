// SPDX-License-Identifier: GPL-3.0-or-later
// A map of texts, its look and its file: what `headlight map` and the window's page write.
#pragma once

#include "headlight/figure/export/export.h"
#include "headlight/figure/map/map_figure.h"
#include "headlight/map/gather/gather.h"
#include "headlight/map/options.h"
#include "headlight/map/search/search.h"
#include "headlight/model/model.h"

#include <cstdint>
#include <string>
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

/// With the command that reproduces the file. A lasso, a zoom and pointer selections are not part of it.
Provenance map_provenance(const model::Model&, const map::QueryKeyMap&, const MapRequest&, const std::string& format);

/// Marks the points of tokens found: `hits` as from map::find_points(), `ranked` from map::heads_by_tightness().
void mark_points(MapLook&, const map::QueryKeyMap&, std::vector<std::uint8_t> hits, const std::vector<map::HeadHits>& ranked,
                 const QString& sought);

}  // namespace headlight::figure
