// SPDX-License-Identifier: GPL-3.0-or-later
#include "map/run/head_points.h"

#include <algorithm>

namespace headlight::map {

QueryKeyMap map_without_heads(const MapVectors& vectors, const MapOptions& options) {
    QueryKeyMap out;
    out.tokens = vectors.tokens;
    out.source = vectors.source;
    out.layers = vectors.layers;
    out.heads_per_layer = vectors.heads_per_layer;
    out.preset = options.preset;
    out.projection = options.projection;
    out.rotated = vectors.rotated;
    out.seed = options.seed;
    out.model = vectors.model;
    return out;
}

std::vector<float> norms_of(const HeadVectors& head) {
    std::vector<float> out;
    for (const Rows& rows : {head.query_rows(), head.key_rows()})
        for (std::int64_t i = 0; i < rows.count; ++i) out.push_back(static_cast<float>(norm_of(rows.row(i), rows.width)));
    return out;
}

void median_of(const std::vector<float>& points, int dims, std::span<const std::int32_t> which, float* out) {
    std::vector<float> along;
    for (int d = 0; d < dims; ++d) {
        along.clear();
        for (const std::int32_t i : which) along.push_back(points[static_cast<std::size_t>(i * dims + d)]);
        std::sort(along.begin(), along.end());
        const std::size_t n = along.size();
        out[d] = n > 0 ? (along[(n - 1) / 2] + along[n / 2]) / 2 : 0;
    }
}

}  // namespace headlight::map
