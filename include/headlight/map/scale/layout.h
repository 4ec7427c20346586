// SPDX-License-Identifier: GPL-3.0-or-later
// The positions of a head's points before projection, and the definition of nearness there.
#pragma once

#include "headlight/map/options.h"
#include "headlight/map/projection/affinities.h"
#include "headlight/map/vectors.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::map {

/// sqrt(mean |k| / mean |q|) over tokens that are not apart; 1 if either is 0.
double norm_scale(const MapVectors&, const HeadVectors&);

/// A factor tried in the search and its correlation; NaN: fewer than 30 pairs are near.
struct TriedScale {
    double c = 0, correlation = 0;
};
struct ScaleSearch {
    std::vector<TriedScale> tried;  ///< 0.2, 0.4, 0.8, 1, 1.25, 2.5, 5
    double c = 0;                   ///< the one with the lowest correlation; norm_scale() where none has one
};
/// Yeh et al. 2023, §5: the weighted correlation of q·k with the distance between c q and k / c, moved as in placed(), over all
/// legal pairs of the same text nearer than the 0.5th percentile d of these distances; weights (d - distance)^2.
ScaleSearch search_scale(const MapVectors&, const HeadVectors&);
/// cov(x, y; w) / sqrt(cov(x, x; w) cov(y, y; w)); NaN if one of them does not vary.
double weighted_correlation(std::span<const double> x, std::span<const double> y, std::span<const double> w);

/// How queries and keys become points: queries times c, keys divided by it and moved onto the queries' mean.
struct Scaling {
    double c = 1;
    std::vector<double> move;  ///< [width] added to keys
};
/// The preset's placement. It shifts each query's scores by a constant, so attention does not change.
Scaling scaling_of(const MapVectors&, const HeadVectors&, const MapOptions&);
/// [Q + K, width]
std::vector<float> scaled_points(const HeadVectors&, const Scaling&);
/// [Q + K] 1: excluded from factors, neighbours and axes. All zeros `with_apart`, or if nothing would be left.
std::vector<std::uint8_t> apart_of(const MapVectors&, const MapOptions&);
/// Distance of a preset's points.
Metric metric_of(Preset) noexcept;

/// The points of one head.
struct Placed {
    std::vector<float> points;          ///< scaled_points()
    std::vector<std::uint8_t> apart;    ///< apart_of()
    std::vector<std::int32_t> counted;  ///< points that are not apart, in order
    std::int64_t queries = 0;           ///< Q
    std::int64_t counted_queries = 0;   ///< of `counted`
    std::int64_t width = 0;
    float c = 1;
    Metric metric = Metric::euclidean;

    Rows rows() const { return {points, width > 0 ? std::ssize(points) / width : 0, width}; }
    /// Only the counted ones, consecutively.
    std::vector<float> counted_points() const;
};
Placed placed(const MapVectors&, const HeadVectors&, const MapOptions&);

/// The neighbours of the counted points (numbers count from 0 among them), of the preset. One list, by the preset's distance; of
/// `scores` two: the `each` of the other role with the largest q·k over all texts, and the `each` nearest of the same role.
/// first_row of a list is its first point.
struct Neighbourhood {
    NeighbourLists lists;
    std::int64_t first_row = 0;
    bool products = false;  ///< distances are differences of scores
};
std::vector<Neighbourhood> neighbourhoods(const Placed&, const HeadVectors&, Preset, std::int64_t each, const CancelToken& = {});

/// What t-SNE and UMAP lay out.
Graph graph_of(const Placed&, const HeadVectors&, const MapOptions&, const CancelToken& = {});

}  // namespace headlight::map
