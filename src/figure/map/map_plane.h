// SPDX-License-Identifier: GPL-3.0-or-later
// A head's points in the units of its picture: the box that holds almost all of them is -1 to 1, with one scale for every axis.
#pragma once

#include "figure/map/point_cloud.h"
#include "headlight/map/query_key_map.h"

#include <array>
#include <vector>

namespace headlight::figure {

struct MapPlane {
    std::vector<float> x, y, z;  ///< z: empty in 2-D; NaN in x: the point cannot be drawn
    std::array<float, 3> middle{};
    float half = 1;  ///< units of the projection for one of the plane

    std::size_t size() const { return x.size(); }
    /// A position of the projection, in units of the plane.
    std::array<float, 3> placed(const float* point, int dims) const;
};

/// The value below which this share of the values lies; reorders them.
float quantile(std::vector<float>& values, double share);

/// The sides of the box are the 1 % and the 99 % quantile of the points that are not apart, extended to all of them if these
/// are at most 30 % farther. If all points are equal they are in the middle.
MapPlane map_plane(const map::HeadMap&, const std::vector<std::uint8_t>& apart);  // apart: [point]

/// About the upright axis, then about the horizontal one: an orbit without roll.
std::array<std::array<float, 3>, 3> orbit_turn(double yaw_degrees, double pitch_degrees);

}  // namespace headlight::figure
