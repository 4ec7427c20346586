// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/map/map_plane.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace headlight::figure {
namespace {

constexpr double outer_share = 0.01;  ///< of the points, beyond each side of the box
constexpr float most_grown = 1.3F;    ///< the box takes in outliers up to this
constexpr float border = 1.04F;       ///< room between the outermost points and the border

struct Extent {
    float low = 0, high = 0, least = 0, most = 0;  ///< quantiles, and the farthest
};

Extent extent_of(std::vector<float>& values) {
    if (values.empty()) return {};
    const auto [least, most] = std::ranges::minmax(values);
    return {quantile(values, outer_share), quantile(values, 1 - outer_share), least, most};
}

}  // namespace

float quantile(std::vector<float>& values, double share) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::lround(share * static_cast<double>(values.size() - 1)));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

std::array<float, 3> MapPlane::placed(const float* point, int dims) const {
    std::array<float, 3> out{};
    for (int d = 0; d < dims && d < 3; ++d) {
        const auto i = static_cast<std::size_t>(d);
        out[i] = (point[d] - middle[i]) / half;
    }
    return out;
}

MapPlane map_plane(const map::HeadMap& head, const std::vector<std::uint8_t>& apart) {
    MapPlane plane;
    const auto dims = static_cast<std::size_t>(head.dims);
    const std::size_t points = dims == 0 ? 0 : head.points.size() / dims;
    std::vector<float> values;
    values.reserve(points);
    float half = 0, widest = 0;
    for (std::size_t d = 0; d < std::min<std::size_t>(dims, 3); ++d) {
        // If all tokens are apart, they define the box.
        for (const bool all : {false, true}) {
            values.clear();
            for (std::size_t i = 0; i < points; ++i)
                if ((all || !apart[i]) && std::isfinite(head.points[i * dims + d])) values.push_back(head.points[i * dims + d]);
            if (!values.empty()) break;
        }
        const Extent e = extent_of(values);
        plane.middle[d] = (e.low + e.high) / 2;
        half = std::max(half, (e.high - e.low) / 2);
        widest = std::max({widest, e.most - plane.middle[d], plane.middle[d] - e.least});
    }
    half = std::clamp(widest, half, half * most_grown) * border;
    plane.half = half > 0 && std::isfinite(half) ? half : 1;
    plane.x.resize(points), plane.y.resize(points);
    if (dims > 2) plane.z.resize(points);
    for (std::size_t i = 0; i < points; ++i) {
        const std::array<float, 3> at = plane.placed(head.points.data() + i * dims, head.dims);
        const bool drawn = std::isfinite(at[0]) && std::isfinite(at[1]) && std::isfinite(at[2]);
        plane.x[i] = drawn ? at[0] : std::numeric_limits<float>::quiet_NaN();
        plane.y[i] = at[1];
        if (dims > 2) plane.z[i] = at[2];
    }
    return plane;
}

std::array<std::array<float, 3>, 3> orbit_turn(double yaw_degrees, double pitch_degrees) {
    const double yaw = yaw_degrees * std::numbers::pi / 180, pitch = pitch_degrees * std::numbers::pi / 180;
    const auto cy = static_cast<float>(std::cos(yaw)), sy = static_cast<float>(std::sin(yaw));
    const auto cp = static_cast<float>(std::cos(pitch)), sp = static_cast<float>(std::sin(pitch));
    return {{{cy, 0, sy}, {sp * sy, cp, -sp * cy}, {-cp * sy, sp, cp * cy}}};
}

}  // namespace headlight::figure
