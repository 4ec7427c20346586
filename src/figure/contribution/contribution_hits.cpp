// SPDX-License-Identifier: GPL-3.0-or-later
// What a contribution graph says under the pointer, and what it writes into files.
#include "figure/contribution/contribution_graph.h"

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

Hit ContributionFigure::hit_of(const ContributionEdge& edge) const {
    const auto name = name_of_edge(edge);
    if (!name) return {.kind = Hit::Kind::legend, .value = edge.weight};
    const bool open = data_.chosen == name;
    Hit hit{.kind = Hit::Kind::option, .options = {{"edge", open ? std::string() : text_of(*name)}}, .value = edge.weight};
    // The head in focus is one of the attention shown.
    if (!open && !edge.in_encoder && (edge.kind == analyze::EdgeKind::cross) == data_.across)
        hit.head = HeadId{Layer(edge.layer), Head(edge.heads.front().first)};
    return hit;
}

QString ContributionFigure::tip_of(const ContributionEdge& edge) const {
    const QString layer = layer_name(edge.layer, edge.in_encoder) + QStringLiteral("  "), to = named(to_token(edge));
    if (name_of_edge(edge)) {
        QString tip =
            layer + QStringLiteral("%1 → %2  %3 of the state:").arg(to, named(from_token(edge)), share_text(edge.weight));
        for (std::size_t i = 0; i < edge.heads.size() && i < 4; ++i)
            tip += QStringLiteral("  H%1 %2").arg(edge.heads[i].first).arg(share_text(edge.heads[i].second));
        if (edge.heads.size() > 4) tip += QStringLiteral("  and %1 more heads").arg(edge.heads.size() - 4);
        return tip;
    }
    const QString what = edge.kind == analyze::EdgeKind::mlp ? QStringLiteral("the MLP adds %1 of the state of %2")
                         : edge.kind == analyze::EdgeKind::residual
                             ? QStringLiteral("%1 of the state of %2 was there before attention")
                         : edge.kind == analyze::EdgeKind::cross_residual
                             ? QStringLiteral("%1 of the state of %2 was there before the attention to the source")
                             : QStringLiteral("%1 of the state of %2 was there before the MLP");
    return layer + what.arg(share_text(edge.weight), to);
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
