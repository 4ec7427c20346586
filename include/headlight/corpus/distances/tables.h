// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/corpus/distances/head_distances.h"
#include "headlight/corpus/distances/head_map.h"

namespace headlight::corpus {

/// One row per pair of heads: layer_a, head_a, layer_b, head_b, divergence, standard_error; nearest first where `sorted`.
analyze::Table pairs_table(const HeadDistances&, bool sorted = false);

struct MapTableOptions {
    ScalingOptions scaling{};
    double group_below = 0.1;  ///< nats: groups of average linkage merge up to it
    std::int64_t nearest = 5;  ///< heads to list
};
/// The map with its groups.
struct HeadMap {
    Scaling scaling;
    std::vector<std::int64_t> groups;
};
HeadMap head_map(const HeadDistances&, const MapTableOptions& = {});
/// One row per head: layer, head, x, y, group, nearest ("L3H5 0.021 L2H1 0.034 …").
analyze::Table map_table(const HeadDistances&, const HeadMap&, const MapTableOptions& = {});

}  // namespace headlight::corpus
