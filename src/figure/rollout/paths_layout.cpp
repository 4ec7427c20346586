// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/rollout/paths_view.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headlight::figure {

namespace {

constexpr double node_gap = 5, least_unit = 260, most_unit = 640;

/// Tokens with at least `least` of the whole, and one node for all others of the column.
std::vector<PathNode> column_nodes(const analyze::TokenPaths& paths, std::int64_t column) {
    const Eigen::VectorXd& mass = paths.mass[static_cast<std::size_t>(column)];
    std::vector<PathNode> nodes;
    PathNode others{.column = column, .token = -1, .count = 0, .mass = 0, .area = {}};
    for (Eigen::Index t = 0; t < mass.size(); ++t) {
        if (mass[t] <= 0) continue;
        if (mass[t] >= paths.least * paths.total) {
            nodes.push_back({column, t, 1, mass[t], {}});
        } else {
            ++others.count;
            others.mass += mass[t];
        }
    }
    if (others.count > 0) nodes.push_back(others);
    return nodes;
}

}  // namespace

QPainterPath PathBand::shape() const {
    const double middle = (left.x() + right.x()) / 2;
    QPainterPath path(left.topLeft());
    path.cubicTo({middle, left.top()}, {middle, right.top()}, right.topLeft());
    path.lineTo(right.bottomLeft());
    path.cubicTo({middle, right.bottom()}, {middle, left.bottom()}, left.bottomLeft());
    path.closeSubpath();
    return path;
}

const PathNode* PathsLayout::node(std::int64_t column, std::int64_t token) const {
    for (const PathNode& node : columns[static_cast<std::size_t>(column)])
        if (node.token == token) return &node;
    return nullptr;
}

PathsLayout paths_layout(const PathsData& data, double label_room, QSizeF available, double legend_height) {
    const analyze::TokenPaths& paths = data.paths;
    PathsLayout l;
    l.label_room = label_room;
    l.legend_height = legend_height;
    std::size_t most = 1;
    for (std::size_t c = 0; c < paths.mass.size(); ++c) {
        l.columns.push_back(column_nodes(paths, static_cast<std::int64_t>(c)));
        most = std::max(most, l.columns.back().size());
    }
    const double around = PathsLayout::header + PathsLayout::column_caption + legend_height,
                 gaps = node_gap * static_cast<double>(most - 1);
    l.unit = std::clamp(available.height() - around - gaps, least_unit, most_unit);
    const double left = PathsLayout::margin + label_room,
                 right = std::max(available.width() - PathsLayout::margin - label_room - PathsLayout::node_width,
                                  left + 60 * static_cast<double>(l.columns.size() - 1)),
                 step = (right - left) / static_cast<double>(std::max<std::size_t>(l.columns.size() - 1, 1)),
                 top = PathsLayout::header + PathsLayout::column_caption;
    const double scale = paths.total > 0 ? l.unit / paths.total : 0;
    for (auto& column : l.columns) {
        // A column with fewer nodes has fewer gaps: it stands in the middle.
        double y = top + (gaps - node_gap * static_cast<double>(column.size() - 1)) / 2;
        for (PathNode& node : column) {
            node.area = QRectF(left + step * static_cast<double>(node.column), y, PathsLayout::node_width, node.mass * scale);
            y += node.area.height() + node_gap;
        }
    }
    // Ends stand in the order of the tokens at the other end; what is left out is missing at the lower edge.
    std::map<std::pair<std::int64_t, std::int64_t>, double> used_above, used_below;
    for (std::size_t r = 0; r < paths.ribbons.size(); ++r) {
        const analyze::Ribbon& ribbon = paths.ribbons[r];
        const PathNode *from = l.node(ribbon.layer + 1, ribbon.from.value), *to = l.node(ribbon.layer, ribbon.to.value);
        if (!from || !to) continue;
        double &out = used_above[{ribbon.layer + 1, ribbon.from.value}], &in = used_below[{ribbon.layer, ribbon.to.value}];
        const double thick = ribbon.mass * scale;
        l.bands.push_back({r, QRectF(to->area.right(), to->area.top() + in, 0, thick),
                           QRectF(from->area.left(), from->area.top() + out, 0, thick)});
        out += thick;
        in += thick;
    }
    l.size = QSizeF(std::max(available.width(), right + PathsLayout::node_width + label_room + PathsLayout::margin),
                    std::max(available.height(), around + l.unit + gaps));
    return l;
}

}  // namespace headlight::figure
