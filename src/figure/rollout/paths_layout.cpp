// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/rollout/paths_view.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace headlight::figure {

namespace {

constexpr double node_gap = 5, least_unit = 260, most_unit = 640, least_step = 60;
constexpr std::size_t many_columns = 50;
constexpr std::size_t always_whole = 12;  ///< layers: up to here all have the same width
constexpr std::size_t least_whole = 6;    ///< layers that are never folded

/// How much a layer moves from one token to another.
std::vector<double> moved_by_layer(const analyze::TokenPaths& paths) {
    std::vector<double> moved(paths.mass.size() - 1, 0);
    for (const analyze::Ribbon& ribbon : paths.ribbons)
        if (ribbon.from != ribbon.to) moved[static_cast<std::size_t>(ribbon.layer)] += ribbon.mass;
    return moved;
}

/// Which layers are folded so that the others, in which most moves, fit the room with their labels.
std::vector<bool> folded_layers(const analyze::TokenPaths& paths, double room, double folded_step, double beside_folded) {
    const std::vector<double> moved = moved_by_layer(paths);
    const std::size_t layers = moved.size();
    std::vector<bool> folded(layers, false);
    if (layers <= always_whole || double(layers) * least_step <= room) return folded;
    const double fitting = (room - folded_step * double(layers)) / (least_step + beside_folded - folded_step);
    const auto whole = std::clamp(static_cast<std::size_t>(std::max(fitting, 0.0)), least_whole, layers);
    std::vector<std::size_t> order(layers);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return moved[a] > moved[b]; });
    for (std::size_t i = whole; i < layers; ++i) folded[order[i]] = true;
    return folded;
}

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

double PathsLayout::step_after(std::int64_t column) const {
    const auto c = static_cast<std::size_t>(column);
    return c + 1 < columns.size() ? columns[c + 1][0].area.left() - columns[c][0].area.right() : 0;
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
    const double left = PathsLayout::margin + label_room, top = PathsLayout::header + PathsLayout::column_caption;
    if (l.columns.size() > many_columns) l.folded_width = 1;
    const double beside_folded = PathsLayout::node_width - l.folded_width;
    const double room = available.width() - 2 * left - PathsLayout::node_width, folded_step = 2.5 * l.folded_width;
    const std::vector<bool> folded = folded_layers(paths, room, folded_step, beside_folded);
    const auto narrow = static_cast<double>(std::ranges::count(folded, true)), wide = static_cast<double>(folded.size()) - narrow;
    // Columns between two folded layers are thin; others keep a gap to the folded layer after them.
    double gaps_beside = 0;
    for (std::size_t c = 0; c < l.columns.size(); ++c) {
        l.folded.push_back(c > 0 && c < folded.size() && folded[c - 1] && folded[c]);
        if (c < folded.size() && folded[c] && !l.folded[c]) gaps_beside += beside_folded;
    }
    const double step = std::max(least_step, (room - folded_step * narrow - gaps_beside) / std::max(1.0, wide));
    std::vector<double> column_x{left};
    for (std::size_t c = 0; c < folded.size(); ++c)
        column_x.push_back(column_x.back() + (!folded[c] ? step : folded_step + (l.folded[c] ? 0 : beside_folded)));
    const double right = column_x.back();
    const double scale = paths.total > 0 ? l.unit / paths.total : 0;
    for (auto& column : l.columns) {
        // A column with fewer nodes has fewer gaps: it stands in the middle.
        double y = top + (gaps - node_gap * static_cast<double>(column.size() - 1)) / 2;
        for (PathNode& node : column) {
            const auto c = static_cast<std::size_t>(node.column);
            node.area = QRectF(column_x[c], y, l.folded[c] ? l.folded_width : PathsLayout::node_width, node.mass * scale);
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
