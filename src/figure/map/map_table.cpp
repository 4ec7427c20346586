// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of the shown heads, as in files of maps.
#include "figure/map/map_parts.h"
#include "headlight/map/tables.h"

namespace headlight::figure {

Table MapFigure::table() const {
    const map::QueryKeyMap& map = parts_->map;
    const auto points = static_cast<std::int64_t>(map::point_count(map));
    analyze::check_rows((parts_->single() ? 1 : std::ssize(map.heads)) * points, points);
    return map::points_table(map, parts_->look.single);
}

std::vector<NamedArray> MapFigure::arrays() const {
    if (!parts_->single()) return map::map_arrays(parts_->map).arrays;
    map::QueryKeyMap one = parts_->map;
    one.heads = {parts_->map.heads[parts_->shown()]};
    return map::map_arrays(one).arrays;
}

}  // namespace headlight::figure
