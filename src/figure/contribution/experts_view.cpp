// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/contribution/contribution_views.h"
#include "figure/plot/plot_data.h"
#include "headlight/analyze/contribution/experts.h"

#include <algorithm>

namespace headlight::figure {
namespace {

using plot::Axis;
using plot::Color;
using plot::Panel;
using plot::Series;

/// Marks only where an expert works: the empty rest is what the layer saves.
Panel panel_of(const trace::Trace& trace, const analyze::ExpertUse& use) {
    const std::int64_t experts = use.weights.cols(), tokens = use.weights.rows();
    Panel panel;
    panel.title = QStringLiteral("Layer %1").arg(use.layer.value);
    panel.x = {.label = QStringLiteral("token"),
               .low = -0.5,
               .high = static_cast<double>(tokens) - 0.5,
               .integer = true,
               .tight = true,
               .labels = {},
               .stands_for = Axis::Stands::query};
    panel.y = {.label = QStringLiteral("expert"),
               .low = -0.5,
               .high = static_cast<double>(experts) - 0.5,
               .integer = true,
               .tight = true,
               .labels = {}};
    std::vector<QString> names;
    const auto axis = analyze::pattern_axes(trace, analyze::PatternOptions{}).keys;
    panel.x.labels = draw::labels_in(axis);
    for (std::size_t i = 0; i < axis.size(); ++i) names.push_back(panel.x.labels[i].with_position(axis[i].first));
    Series& chosen = panel.series.emplace_back();
    chosen.marker = plot::Marker::square;
    std::vector<float> logits;
    for (std::int64_t p = 0; p < tokens; ++p)
        for (std::int64_t e = 0; e < experts; ++e) {
            if (use.weights(p, e) == 0) continue;
            chosen.x.push_back(static_cast<double>(p));
            chosen.y.push_back(static_cast<double>(e));
            chosen.queries.emplace_back(p);
            const double full = trace.config().experts.scale;
            chosen.colors.push_back({Color::Role::ramp, std::min(1.0, static_cast<double>(use.weights(p, e)) / full)});
            logits.push_back(use.logits(p, e));
        }
    chosen.tip = [=, at = chosen.x, of = chosen.y](std::size_t i) {
        const auto p = static_cast<std::int64_t>(at[i]), e = static_cast<std::int64_t>(of[i]);
        QString tip = QStringLiteral("%1  expert %2  weight %3  router logit %4")
                          .arg(names[static_cast<std::size_t>(p)], QString::number(e),
                               draw::value_text(static_cast<double>(use.weights(p, e))),
                               draw::number_text(static_cast<double>(logits[i]), 3));
        if (use.shared.size() > 0)
            tip += QStringLiteral("  shared expert %1").arg(draw::value_text(static_cast<double>(use.shared[p])));
        return tip;
    };
    return panel;
}

}  // namespace

std::unique_ptr<Figure> experts_view(TracePtr trace, Layer layer, bool all_layers) {
    const model::Experts& e = trace->config().experts;
    plot::PlotData data;
    data.view = "experts";
    data.title = QStringLiteral("Experts of each token");
    data.subtitle = QStringLiteral("%1 of %2 experts work for a token").arg(e.chosen).arg(e.count);
    if (e.shared_width > 0) data.subtitle += QStringLiteral(", and a shared one for all");
    data.description = QStringLiteral(
        "A column a token, a row an expert of the layer's MLP. A square stands where the router chose the expert "
        "for the token; its colour is the weight that the expert's output is multiplied with. Nothing else of the "
        "layer is computed for the token. After Shazeer et al. 2017, Outrageously Large Neural Networks.");
    data.stacked_panels = true;
    data.focus_in_files = false;
    data.scale = plot::ColorScale{QStringLiteral("weight of the expert"), QStringLiteral("0"), QString::number(e.scale, 'g', 3)};
    std::vector<analyze::ExpertUse> uses;
    const auto take = [&](Layer l) {
        uses.push_back(analyze::expert_use(*trace, l));
        data.panels.push_back(panel_of(*trace, uses.back()));
    };
    if (all_layers) {
        for (const Layer l : analyze::layers_with_experts(trace->config())) take(l);
    } else if (model::has_experts(trace->config(), layer.value)) {
        take(layer);
    } else {
        Panel& panel = data.panels.emplace_back();
        panel.title = QStringLiteral("Layer %1").arg(layer.value);
        panel.empty = QStringLiteral("This layer has one MLP for all tokens");
    }
    data.arrays = [uses] {
        std::vector<NamedArray> arrays;
        for (const analyze::ExpertUse& use : uses)
            arrays.push_back(analyze::named_array("layer_" + std::to_string(use.layer.value), use.weights));
        return arrays;
    };
    data.table = [uses = std::move(uses), trace] { return analyze::table_of(uses, *trace); };
    return plot::plot_figure(std::move(data));
}

}  // namespace headlight::figure
