// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/axis_words.h"
#include "figure/plot/plot_data.h"
#include "figure/sparsity/sparsity_map.h"
#include "figure/sparsity/sparsity_views.h"
#include "figure/table/stacked_figure.h"
#include "headlight/model/config.h"

#include <algorithm>
#include <functional>

namespace headlight::figure {
namespace {

using analyze::HeadSparsity;
using analyze::SparseScheme;
using analyze::Sparsity;
using plot::Color;
using plot::Panel;
using plot::Series;

constexpr std::int64_t map_cells = 512;

QString memory_text(double bytes) {
    return bytes >= 1e6 ? draw::number_text(bytes / 1e6, 1) + QStringLiteral(" MB")
                        : draw::number_text(bytes / 1e3, 1) + QStringLiteral(" kB");
}

/// "40 % of the pairs". NSA reads a key in each of its branches that has it, so its share may exceed that of the dense head.
QString pairs_text(const analyze::SparsityOptions& o, const HeadSparsity& head) {
    const QString share = percent_text(head.pairs_share);
    return o.scheme == SparseScheme::nsa ? share + QStringLiteral(" of the dense head’s reads, counted in each branch")
                                         : share + QStringLiteral(" of the pairs");
}

/// Keys and values of one key/value head at 16 bits.
QString cost_text(const trace::Trace& trace, HeadId id, const analyze::SparsityOptions& o, const HeadSparsity& head) {
    const model::ModelConfig& c = trace.config();
    const model::KeyRange last =
        model::legal_keys(trace.tokens() - 1, trace.keys(), c.causal, model::window_of(c, id.layer.value));
    const double dense = 2.0 * static_cast<double>((last.last - last.first) * (c.d_head + model::value_width(c)));
    const QString memory =
        o.scheme == SparseScheme::nsa
            ? QStringLiteral("keys and values %1, of which %2 are compressed ones")
                  .arg(memory_text(dense * head.kv_share), memory_text(dense * (head.kv_share - 1)))
            : QStringLiteral("keys and values %1 of %2").arg(memory_text(dense * head.kv_share), memory_text(dense));
    return QStringLiteral(
               "keeps %1 on average, %2 at the tenth percentile of rows · %3 · %4; the last query reads %5 of the dense head’s")
        .arg(percent_text(head.mean.kept), percent_text(head.p10), pairs_text(o, head), memory, percent_text(head.kv_read_share));
}

Panel heads_panel(const std::shared_ptr<const Sparsity>& all) {
    Panel panel;
    panel.title = QStringLiteral("Every head");
    panel.x.label = QStringLiteral("layer");
    panel.x.integer = true;
    panel.y.label = QStringLiteral("mean mass kept");
    panel.y.low = 0;
    panel.y.high = 1;
    Series s;
    for (std::int64_t l = 0; l < all->n_layers; ++l)
        for (std::int64_t h = 0; h < all->n_heads; ++h) {
            const HeadId id{Layer(l), Head(h)};
            s.heads.push_back(id);
            s.colors.push_back(Color::of_head(id.head));
            // Side by side, so that heads that keep the same are seen.
            s.x.push_back(static_cast<double>(l) +
                          0.6 * ((static_cast<double>(h) + 0.5) / static_cast<double>(all->n_heads) - 0.5));
            s.y.push_back(all->of(id).mean.kept);
        }
    s.tip = [all, heads = s.heads](std::size_t i) {
        const HeadSparsity& head = all->of(heads[i]);
        return QStringLiteral("%1  keeps %2 on average, %3 at the tenth percentile, with %4")
            .arg(head_name(heads[i]), draw::value_text(head.mean.kept), draw::value_text(head.p10),
                 pairs_text(all->options, head));
    };
    panel.series.push_back(std::move(s));
    return panel;
}

/// A line for each head of a layer.
Panel curves_panel(const std::shared_ptr<const Sparsity>& all, Layer layer, const std::vector<std::int64_t>& at,
                   std::vector<double> HeadSparsity::*values, const QString& title, const QString& x,
                   const std::function<QString(std::size_t)>& where) {
    Panel panel;
    panel.title = title;
    panel.x.label = x;
    panel.x.log = true;
    panel.y.label = QStringLiteral("mean mass kept");
    panel.y.low = 0;
    panel.y.high = 1;
    for (std::int64_t h = 0; h < all->n_heads; ++h) {
        const HeadId id{layer, Head(h)};
        Series s;
        s.kind = Series::Kind::line;
        s.marked = true;
        s.color = Color::of_head(id.head);
        s.head = id;
        for (const std::int64_t v : at) s.x.push_back(static_cast<double>(v));
        s.y = all->of(id).*values;
        s.tip = [id, where, y = s.y](std::size_t i) {
            return QStringLiteral("%1  %2  keeps %3").arg(head_name(id), where(i), draw::value_text(y[i]));
        };
        panel.series.push_back(std::move(s));
    }
    return panel;
}

/// "queries 32 to 63"
QString queries_text(const Sparsity& all, std::size_t length) {
    return QStringLiteral("queries %1 to %2")
        .arg(draw::count_text(length > 0 ? all.lengths[length - 1] : 1),
             draw::count_text(std::min(all.lengths[length], all.queries) - 1));
}

QString budget_name(SparseScheme scheme) {
    switch (scheme) {
        case SparseScheme::nsa: return QStringLiteral("selected blocks");
        case SparseScheme::topk: return QStringLiteral("keys");
        default: return QStringLiteral("window");
    }
}

}  // namespace

QStringList whole_text_notes(const analyze::SparsityOptions& o, std::int64_t tokens) {
    QStringList notes;
    const auto covers = [&](std::int64_t keys, const char* note) {
        if (keys >= tokens) notes << QString::fromLatin1(note) + QStringLiteral(" in the options");
    };
    if (o.scheme == SparseScheme::longformer)
        covers(o.window / 2, "The window covers the whole text: choose a smaller window");
    else if (o.scheme != SparseScheme::topk)
        covers(o.window, "The window covers the whole text: choose a smaller window");
    if (o.scheme == SparseScheme::sinks) covers(o.sinks, "The first keys are the whole text: choose fewer");
    if (o.scheme == SparseScheme::topk) covers(o.budget, "The budget covers the whole text: choose a smaller budget");
    if (o.scheme == SparseScheme::nsa)
        covers(o.top > tokens / o.select ? tokens : o.top * o.select,
               "The selected blocks cover the whole text: choose fewer or smaller blocks");
    return notes;
}

std::unique_ptr<Figure> sparsity_view(TracePtr trace, HeadId id, const analyze::SparsityOptions& asked, const CancelToken& cancel,
                                      const Progress& progress) {
    analyze::SparsityOptions options = asked;
    // The default needs a causal model; one that looks both ways has one scheme.
    if (!trace->config().causal && options.scheme == SparseScheme::nsa) options.scheme = SparseScheme::longformer;
    const auto all = analyze::sparsity(*trace, options, false, cancel, progress);
    const analyze::SparsityOptions in_layer = analyze::options_in(options, trace->config(), id.layer);
    SparsityMapData data{.map = analyze::sparse_map(*trace, id, options, map_cells, cancel),
                         .options = in_layer,
                         .tokens = analyze::pattern_axes(*trace, analyze::PatternOptions{}).keys,
                         .cost = cost_text(*trace, id, in_layer, all->of(id)),
                         .attention = attention_name(trace->config())};
    for (const QString& note : whole_text_notes(in_layer, trace->tokens())) data.cost += QStringLiteral(". ") + note;
    auto map = std::make_unique<SparsityMapFigure>(std::move(data));
    plot::PlotData plots;
    plots.view = "sparsity";
    plots.title = QStringLiteral("Which heads survive");
    plots.subtitle = QStringLiteral("mass kept of every head, and of the heads of layer %1 against the budget and along the text")
                         .arg(id.layer.value);
    plots.focus_in_files = true;
    plots.panels.push_back(heads_panel(all));
    const QString budget = budget_name(options.scheme);
    plots.panels.push_back(curves_panel(
        all, id.layer, all->budgets, &HeadSparsity::by_budget, QStringLiteral("Against the budget"), budget,
        [all, budget](std::size_t i) { return QStringLiteral("%1 %2").arg(budget, draw::count_text(all->budgets[i])); }));
    plots.panels.push_back(curves_panel(all, id.layer, all->lengths, &HeadSparsity::by_length, QStringLiteral("Along the text"),
                                        QStringLiteral("position of the queries, up to"),
                                        [all](std::size_t i) { return queries_text(*all, i); }));
    StackedParts parts;
    parts.view = "sparsity";
    parts.title = map->title();
    parts.description = map->description();
    parts.fits_first = true;
    parts.table = [all] { return analyze::table_of(*all); };
    parts.arrays = [all] { return analyze::table_of(*all).arrays; };
    parts.parts.push_back(std::move(map));
    parts.parts.push_back(plot::plot_figure(std::move(plots)));
    return stacked_figure(std::move(parts));
}

}  // namespace headlight::figure
