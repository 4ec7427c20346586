// SPDX-License-Identifier: GPL-3.0-or-later
// What layouts and new points share.
#pragma once

#include "headlight/map/options.h"
#include "headlight/map/vectors.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::map {

inline constexpr std::int64_t kFollowed = 10;  ///< nearest points of its role whose median a point takes
inline constexpr std::int64_t kFewest = 5;     ///< counted points; with fewer, every projection is PCA

/// Without notes and pictures.
QueryKeyMap map_without_heads(const MapVectors&, const MapOptions&);
std::vector<float> norms_of(const HeadVectors&);  ///< queries, then keys
/// Axis by axis, of the points with these numbers; the mean of the two in the middle for an even number.
void median_of(const std::vector<float>& points, int dims, std::span<const std::int32_t> which, float* out);

}  // namespace headlight::map
