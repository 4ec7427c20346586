// SPDX-License-Identifier: GPL-3.0-or-later
// Descriptions of parts of a map: the densest regions of a plane, and values over-represented in a set of points.
#pragma once

#include "figure/map/map_colors.h"
#include "figure/map/map_plane.h"
#include "headlight/figure/map/map_figure.h"

#include <array>
#include <vector>

namespace headlight::figure {

/// Counts the values of a map's points once, for many sets of them.
class MapShares {
public:
    explicit MapShares(const map::QueryKeyMap&);
    /// `drawn`: [point] 1: it counts; empty: all do.
    void count(const std::vector<std::uint8_t>& drawn = {});
    /// Log-odds ratio of each value with an informative prior of 50 points distributed as in the whole map (Monroe, Colaresi &
    /// Quinn 2008, Fightin' Words, eq. 16 to 22); values of at least two points of the set, sorted by z.
    std::vector<MapShare> of(const std::vector<std::int32_t>& points, double least) const;

private:
    static constexpr std::size_t kinds = 5;  ///< token, role, position, text, part of speech
    struct Value {
        std::size_t kind;
        QString words;
        std::int64_t count = 0;
    };
    std::vector<std::array<std::int32_t, kinds>> values_of_;  ///< [point] index into values_; -1: none
    std::vector<Value> values_;
    std::int64_t counted_ = 0;
};

struct MapRegion {
    std::array<float, 3> at{};         ///< the densest position in the rotated plane
    std::vector<std::int32_t> points;  ///< ascending
    QString words;                     ///< "·the  ·a", "positions 0–4"; empty: nothing is over-represented
};
/// Basins of a smoothed density on 64 x 64 cells of the box, the largest first. `drawn`: [point] whether it counts.
std::vector<MapRegion> map_regions(const MapPlane&, const CloudView&, const std::vector<std::uint8_t>& drawn, std::size_t most);
/// Names them by over-represented values: up to three tokens, else a band of positions.
void name_regions(std::vector<MapRegion>&, const MapShares&);

}  // namespace headlight::figure
