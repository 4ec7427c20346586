// SPDX-License-Identifier: GPL-3.0-or-later
// Geva's curves for this text: who decides the prediction in each layer, and how early it is final.
#include "figure/plot/plot_data.h"
#include "figure/prediction/prediction_views.h"
#include "headlight/analyze/prediction/refinement.h"

namespace headlight::figure {
namespace {

using analyze::LayerRefinement;
using plot::Color;
using plot::Panel;
using plot::Series;

using Member = double LayerRefinement::*;

Series series(const analyze::Refinement& found, QString name, Series::Kind kind, Color color, Member field) {
    Series s;
    s.kind = kind;
    s.name = name;
    s.color = color;
    s.marked = kind == Series::Kind::line;
    std::vector<double> values;
    for (std::size_t l = 0; l < found.layers.size(); ++l) {
        s.x.push_back(static_cast<double>(l));
        values.push_back(found.layers[l].*field);
    }
    s.y = values;
    s.tip = [name, values](std::size_t i) {
        return QStringLiteral("layer %1  %2 %3").arg(i).arg(name, draw::value_text(values[i]));
    };
    return s;
}

/// Of shares: from 0 to 1.
Panel panel(QString title, QString y, std::size_t layers) {
    Panel p;
    p.title = std::move(title);
    p.x.label = QStringLiteral("layer");
    p.x.integer = true;
    p.x.low = -0.5;  // room for whole bars
    p.x.high = static_cast<double>(layers) - 0.5;
    p.x.tight = true;
    p.y.label = std::move(y);
    p.y.from_zero = true;
    p.y.low = 0;
    p.y.high = 1;
    return p;
}

}  // namespace

std::unique_ptr<Figure> refinement_view(TracePtr trace, const analyze::RefinementRequest& asked, const CancelToken& cancel,
                                        const Progress& progress) {
    const analyze::Refinement found = analyze::refinement({trace}, asked.options(), cancel, progress);
    using Role = Color::Role;
    plot::PlotData data;
    data.view = "refinement";
    data.title = QStringLiteral("Refinement of the prediction");
    data.subtitle = QStringLiteral("tokens counted: %1").arg(draw::count_text(found.tokens));
    if (found.tokens < trace->tokens()) data.subtitle += QStringLiteral("; the first is left out");
    data.description = QStringLiteral(
        "The effect of each layer's MLP on the prediction. With r the stream before it, y its output and o the stream after it, "
        "each read as a token: all three agree, o keeps r's token (residual), takes the MLP's, or becomes a third one "
        "(composition). Beside it: how often and with what probability r already has the final prediction, the share of active "
        "memories, and how often no active memory's value has the layer's own top token. After Geva et al. 2021, Transformer "
        "Feed-Forward Layers Are Key-Value Memories, Figures 6 and 8 to 11.");
    // The layers of the three stand under each other.
    data.stacked_panels = data.own_legends = true;
    data.aspect = 0.3;
    data.table = [found] { return analyze::table_of(found); };
    data.note = asked.unembedding           ? QStringLiteral("vectors read by the unembedding alone")
                : trace->config().post_norm ? QStringLiteral("vectors read by the norm after the layer's sum and the unembedding")
                                            : QStringLiteral("vectors read by the final norm and the unembedding");

    Panel who = panel(QStringLiteral("Who decides"), QStringLiteral("share of tokens"), found.layers.size());
    const auto stacked = Series::Kind::stacked, line = Series::Kind::line;
    who.series = {series(found, QStringLiteral("agreement"), stacked, {Role::clark_grey, 0}, &LayerRefinement::agreement),
                  series(found, QStringLiteral("residual"), stacked, {Role::clark_blue, 0}, &LayerRefinement::residual),
                  series(found, QStringLiteral("MLP"), stacked, {Role::clark_orange, 0}, &LayerRefinement::ffn),
                  series(found, QStringLiteral("composition"), stacked, {Role::clark_purple, 0}, &LayerRefinement::composition)};
    Panel early =
        panel(QStringLiteral("How early the answer is final"), QStringLiteral("share, probability"), found.layers.size());
    early.series = {series(found, QStringLiteral("final token already in the stream"), line, {Role::clark_blue, 0},
                           &LayerRefinement::residual_final),
                    series(found, QStringLiteral("its probability there"), line, {Role::clark_orange, 0},
                           &LayerRefinement::residual_probability)};
    Panel memories = panel(QStringLiteral("Memories"), QStringLiteral("share"), found.layers.size());
    memories.series = {
        series(found, QStringLiteral("active memories (coefficient > 0)"), line, {Role::clark_sea, 0}, &LayerRefinement::active),
        series(found, QStringLiteral("tokens without an agreeing memory"), line, {Role::clark_purple, 0},
               &LayerRefinement::zero_agreement)};
    who.x.label = early.x.label = {};
    data.panels = {std::move(who), std::move(early), std::move(memories)};
    return plot::plot_figure(std::move(data));
}

}  // namespace headlight::figure
