// SPDX-License-Identifier: GPL-3.0-or-later
// The points of a map as rows, and as arrays.
#include "figure/map/map_parts.h"

#include <cmath>

namespace headlight::figure {

Table MapFigure::table() const {
    const map::QueryKeyMap& map = parts_->map;
    Table table;
    const bool solid = map.heads.front().dims == 3;
    table.columns = {"layer", "head", "role", "text", "position", "token", "x", "y"};
    if (solid) table.columns.emplace_back("z");
    table.columns.insert(table.columns.end(), {"norm", "trust"});
    const auto points = static_cast<std::int32_t>(map::point_count(map));
    const std::size_t heads = parts_->single() ? 1 : map.heads.size();
    analyze::check_rows(static_cast<std::int64_t>(heads) * points, points);
    const auto number = [](const std::vector<float>& of, std::size_t i) {
        return i < of.size() && std::isfinite(of[i]) ? Table::Cell(double(of[i])) : Table::Cell();
    };
    for (const map::HeadMap& head : map.heads) {
        if (parts_->single() && HeadId{head.layer, head.head} != *parts_->look.single) continue;
        for (std::int32_t p = 0; p < points; ++p) {
            const MapToken token = map_token(map, p);
            const auto i = static_cast<std::size_t>(p), d = static_cast<std::size_t>(head.dims);
            std::vector<Table::Cell> row{head.layer.value,
                                         head.head.value,
                                         std::string(token.key ? "key" : "query"),
                                         std::int64_t{token.text()},
                                         token.position().value,
                                         token.of.tokens[token.at],
                                         number(head.points, i * d),
                                         number(head.points, i * d + 1)};
            if (solid) row.push_back(number(head.points, i * d + 2));
            row.push_back(number(head.norms, i));
            row.push_back(number(head.trust, i));
            table.add(std::move(row));
        }
    }
    return table;
}

std::vector<NamedArray> MapFigure::arrays() const { return {}; }

}  // namespace headlight::figure
