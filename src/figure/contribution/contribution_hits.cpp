// SPDX-License-Identifier: GPL-3.0-or-later
// What a contribution graph says under the pointer, and what it writes into files.
#include "figure/contribution/contribution_graph.h"

#include <QPainterPathStroker>

#include <algorithm>
#include <cmath>

namespace headlight::figure {

using analyze::ContributionEdge;

QString ContributionFigure::description() const {
    QString text = QStringLiteral(
        "Layers go up, tokens stand side by side. A line is a part of the state it leads to: what attention brought from a "
        "token, what the MLP added, or what was there already. A part p of a whole w weighs |w| − |w − p| in L1 norms, never "
        "less than next to nothing, over the sum of all parts; head by head and token by token. Parts under the threshold are "
        "dropped, and what stays sums to 1 again at each state. Only what reaches the chosen token's last state is drawn. ");
    if (at_.two())
        text += QStringLiteral(
            "On the right is the target in the decoder, on the left the source in the encoder. The attention to the source is a "
            "step of its own in each layer of the decoder: its lines come from the encoder's last state of a token, which the "
            "thin line carries past the layers, and that state is followed down through the encoder in the same way. ");
    return text + QStringLiteral(
                      "Click a line of attention for its heads, and for the map of one head's weights beside that of what it "
                      "contributed. Tufanov et al. 2024, LM Transparency Tool; Ferrando & Voita 2024, Information Flow Routes.");
}

Hit ContributionFigure::edge_hit(const ContributionEdge& edge) const {
    Hit hit;
    hit.value = edge.weight;
    hit.area = path(edge).boundingRect();
    const QString layer = layer_name(edge.layer, edge.in_encoder) + QStringLiteral("  "), to = named(to_token(edge));
    if (const auto name = name_of_edge(edge)) {
        const bool open = data_.chosen == name;
        hit.kind = Hit::Kind::option;
        hit.options = {{"edge", open ? std::string() : text_of(*name)}};
        // The head in focus is one of the attention shown.
        if (!open && !edge.in_encoder && (edge.kind == analyze::EdgeKind::cross) == data_.across)
            hit.head = HeadId{Layer(edge.layer), Head(edge.heads.front().first)};
        hit.tip = layer + QStringLiteral("%1 → %2  %3 of the state:").arg(to, named(from_token(edge)), share_text(edge.weight));
        for (std::size_t i = 0; i < edge.heads.size() && i < 4; ++i)
            hit.tip += QStringLiteral("  H%1 %2").arg(edge.heads[i].first).arg(share_text(edge.heads[i].second));
        if (edge.heads.size() > 4) hit.tip += QStringLiteral("  and %1 more heads").arg(edge.heads.size() - 4);
        return hit;
    }
    hit.kind = Hit::Kind::legend;
    const QString what = edge.kind == analyze::EdgeKind::mlp ? QStringLiteral("the MLP adds %1 of the state of %2")
                         : edge.kind == analyze::EdgeKind::residual
                             ? QStringLiteral("%1 of the state of %2 was there before attention")
                         : edge.kind == analyze::EdgeKind::cross_residual
                             ? QStringLiteral("%1 of the state of %2 was there before the attention to the source")
                             : QStringLiteral("%1 of the state of %2 was there before the MLP");
    hit.tip = layer + what.arg(share_text(edge.weight), to);
    return hit;
}

Hit ContributionFigure::label_hit(QPointF point) const {
    for (const bool of_source : {false, true}) {
        const double bottom = of_source ? at_.source_bottom : at_.bottom, left = of_source ? at_.source_left : at_.left;
        const auto& columns = of_source ? at_.source_columns : at_.columns;
        if (point.y() <= bottom + 6 || point.y() >= bottom + at_.label_extent) continue;
        const double column = std::floor((point.x() - left) / at_.pitch_x);
        if (column < 0 || column >= static_cast<double>(columns.size())) continue;
        Hit hit;
        const ContributionToken token{of_source, columns[static_cast<std::size_t>(column)]};
        if (!of_source) {
            hit.kind = Hit::Kind::query;
            hit.query = Position(token.position);
        } else if (data_.across) {
            hit.kind = Hit::Kind::key;
            hit.key = Position(token.position);
        } else {
            hit.kind = Hit::Kind::legend;
        }
        hit.tip = named(token);
        hit.area = {left + column * at_.pitch_x, bottom + 6, at_.pitch_x, at_.label_extent - 6};
        return hit;
    }
    return {};
}

Hit ContributionFigure::hit_test(QPointF point, const Style&, const Selection&) const {
    if (Hit hit = label_hit(point); hit.kind != Hit::Kind::none) return hit;
    QPainterPathStroker reach;
    for (const std::size_t i : drawn_) {
        const ContributionEdge& edge = data_.graph->edges[i];
        const double near = std::max(7.0, contribution_width(edge.weight, at_));
        const QPainterPath line = path(edge);
        if (!line.boundingRect().adjusted(-near, -near, near, near).contains(point)) continue;
        reach.setWidth(near);
        if (reach.createStroke(line).contains(point)) return edge_hit(edge);
    }
    return {};
}

Table ContributionFigure::table() const { return analyze::table_of(*data_.graph, *data_.trace); }

std::vector<NamedArray> ContributionFigure::arrays() const {
    const auto& edges = data_.graph->edges;
    // layer, kind in the order of the enum, from, to, contribution; of two stacks also 1 for the encoder's
    NamedArray all{"edges", {std::ssize(edges), at_.two() ? 6 : 5}, {}};
    for (const ContributionEdge& e : edges) {
        for (const double x : {double(e.layer), double(static_cast<int>(e.kind)), double(e.from), double(e.to), e.weight})
            all.values.push_back(static_cast<float>(x));
        if (at_.two()) all.values.push_back(e.in_encoder ? 1.0F : 0.0F);
    }
    return {all};
}

}  // namespace headlight::figure
