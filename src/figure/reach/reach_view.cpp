// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/reach/reach_views.h"

#include "figure/plot/plot_data.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/base/numbers.h"

#include <cmath>

namespace headlight::figure {
namespace {

using analyze::HeadReach;
using analyze::Reach;
using plot::Axis;
using plot::Color;
using plot::Panel;
using plot::Series;
using ReachPtr = std::shared_ptr<const Reach>;

/// A line for each head of a layer.
Panel lines_panel(const ReachPtr& all, Layer layer, std::vector<double> HeadReach::*values, const std::vector<double>& at,
                  const std::function<QString(std::size_t)>& where) {
    Panel panel;
    panel.y.label = QStringLiteral("share of the weight");
    panel.y.from_zero = true;
    for (std::int64_t h = 0; h < all->n_heads; ++h) {
        const HeadId id{layer, Head(h)};
        Series s;
        s.kind = Series::Kind::line;
        s.marked = true;
        s.color = Color::of_head(id.head);
        s.head = id;
        s.x = at;
        s.y = all->of(id).*values;
        s.tip = [id, where, y = s.y](std::size_t i) {
            return QStringLiteral("%1  %2  %3").arg(head_name(id), where(i), draw::value_text(y[i]));
        };
        panel.series.push_back(std::move(s));
    }
    return panel;
}

/// Back, or to both sides where later keys are read as well.
QString distance_text(const Reach& all, std::size_t i, const QString& side) {
    const std::int64_t near = all.distances[i], far = 2 * near - 1;
    if (near == 0) return QStringLiteral("on itself");
    return far <= near ? QStringLiteral("1 token %1").arg(side)
                       : QStringLiteral("%1 to %2 tokens %3").arg(draw::count_text(near), draw::count_text(far), side);
}

Panel distance_panel(const ReachPtr& all, Layer layer, bool causal) {
    std::vector<double> at;
    for (std::size_t i = 0; i < all->distances.size(); ++i) at.push_back(static_cast<double>(i));
    const QString side = causal ? QStringLiteral("back") : QStringLiteral("away");
    Panel panel =
        lines_panel(all, layer, &HeadReach::by_distance, at, [all, side](std::size_t i) { return distance_text(*all, i, side); });
    panel.title = QStringLiteral("By distance");
    panel.x.label = QStringLiteral("tokens %1, doubling").arg(side);
    panel.x.integer = true;
    for (const std::int64_t d : all->distances) panel.x.labels.push_back({{}, draw::count_text(d), false});
    return panel;
}

Panel depth_panel(const ReachPtr& all, Layer layer) {
    std::vector<double> at;
    for (std::int64_t i = 0; i < Reach::depths; ++i) at.push_back((static_cast<double>(i) + 0.5) * 100 / Reach::depths);
    Panel panel = lines_panel(all, layer, &HeadReach::by_depth, at, [](std::size_t i) {
        const auto from = static_cast<std::int64_t>(100 * i) / Reach::depths;
        return QStringLiteral("%1 to %2 % of what was read").arg(from).arg(from + 100 / Reach::depths);
    });
    panel.title = QStringLiteral("Start, middle, end of what was read");
    panel.x.label = QStringLiteral("depth of the key, % of the query's keys");
    panel.x.low = 0;
    panel.x.high = 100;
    panel.x.tight = true;
    panel.references.push_back({QStringLiteral("uniform attention"), 1.0 / Reach::depths, {Color::Role::muted}, false, true});
    // The middle of a text has hundredths where its ends have halves.
    panel.y.from_zero = false;
    panel.y.log = true;
    panel.y.low = 1e-4;
    panel.y.high = 1;
    if (std::isnan(all->of({layer, Head(0)}).by_depth.front()))
        panel.empty = QStringLiteral("no query has %1 keys").arg(Reach::deep_enough);
    return panel;
}

Panel section_panel(const ReachPtr& all, HeadId id) {
    Panel panel;
    panel.title = QStringLiteral("By paragraph, %1").arg(head_name(id));
    panel.x.label = QStringLiteral("paragraph");
    panel.x.integer = true;
    panel.y.label = QStringLiteral("share of the weight of later queries");
    panel.y.from_zero = true;
    Series s;
    s.kind = Series::Kind::bars;
    s.color = Color::of_head(id.head);
    s.head = id;
    for (std::size_t i = 0; i < all->sections.size(); ++i) {
        s.x.push_back(static_cast<double>(i));
        s.y.push_back(all->of(id).by_section[i]);
        s.keys.push_back(all->sections[i].first);
    }
    s.tip = [all, y = s.y](std::size_t i) {
        const analyze::TextSection& section = all->sections[i];
        return QStringLiteral("paragraph %1, tokens %2 to %3: “%4”  %5")
            .arg(i)
            .arg(draw::count_text(section.first.value), draw::count_text(section.last().value),
                 QString::fromStdString(section.title), draw::value_text(y[i]));
    };
    panel.series.push_back(std::move(s));
    if (all->sections.size() < 2) panel.empty = QStringLiteral("the text is one paragraph");
    return panel;
}

/// Every head: the passage's share where there is one, else the middle's.
Panel heads_panel(const ReachPtr& all) {
    const bool passage = all->passage.has_value();
    double HeadReach::*value = passage ? &HeadReach::passage : &HeadReach::middle;
    Panel panel;
    panel.title = passage ? QStringLiteral("Every head on tokens %1 to %2")
                                .arg(draw::count_text(all->passage->first.value), draw::count_text(all->passage->last.value))
                          : QStringLiteral("Every head on the middle half");
    panel.x.label = QStringLiteral("layer");
    panel.x.integer = true;
    panel.y.label = passage ? QStringLiteral("share on the passage") : QStringLiteral("share on the middle half");
    panel.y.from_zero = true;
    Series s;
    s.radius = 4;
    for (std::int64_t l = 0; l < all->n_layers; ++l)
        for (std::int64_t h = 0; h < all->n_heads; ++h) {
            const HeadId id{Layer(l), Head(h)};
            s.heads.push_back(id);
            s.colors.push_back(Color::of_head(id.head));
            s.x.push_back(static_cast<double>(l) +
                          0.6 * ((static_cast<double>(h) + 0.5) / static_cast<double>(all->n_heads) - 0.5));
            s.y.push_back(all->of(id).*value);
        }
    s.tip = [all, passage, heads = s.heads](std::size_t i) {
        const HeadReach& head = all->of(heads[i]);
        if (!passage) return QStringLiteral("%1  middle half %2").arg(head_name(heads[i]), draw::value_text(head.middle));
        return QStringLiteral("%1  passage %2, uniform %3, largest weight there in %4 of the queries, retrieval score %5")
            .arg(head_name(heads[i]), draw::value_text(head.passage), draw::value_text(head.passage_uniform),
                 draw::value_text(head.passage_largest), draw::value_text(head.retrieval));
    };
    panel.series.push_back(std::move(s));
    const double uniform = passage ? all->of({}).passage_uniform : 0.5;
    if (std::isfinite(uniform))
        panel.references.push_back({QStringLiteral("uniform attention"), uniform, {Color::Role::muted}, false, true});
    if (std::isnan(all->of({}).*value))
        panel.empty = passage ? QStringLiteral("no query stands behind the passage")
                              : QStringLiteral("no query has %1 keys").arg(Reach::deep_enough);
    return panel;
}

std::unique_ptr<Figure> moved_table(const trace::Trace& trace, HeadId id, const std::vector<analyze::MovedToken>& moved) {
    TableSection section;
    const bool lengths = moved.empty() || std::isfinite(moved.front().length);
    section.title =
        (lengths ? QStringLiteral("What %1 moves most in this text") : QStringLiteral("What %1 attends to most in this text"))
            .arg(head_name(id));
    section.note = lengths ? QStringLiteral(
                                 "Pairs of tokens by the length of what the head writes for one key, |weight × v W_O|; the "
                                 "first token and the query itself do not count.")
                           : QStringLiteral(
                                 "Pairs of tokens by attention weight, since there are no values of the model here; the first "
                                 "token and the query itself do not count.");
    section.hint = QStringLiteral("Click a row to go there.");
    section.columns = {{.kind = ColumnKind::text, .id = "query", .title = QStringLiteral("to"), .stretched = true},
                       {.kind = ColumnKind::text, .id = "key", .title = QStringLiteral("from"), .stretched = true}};
    if (lengths)
        section.columns.push_back({.kind = ColumnKind::bar, .id = "length", .title = QStringLiteral("length"), .sorted = true});
    section.columns.push_back(
        {.kind = ColumnKind::bar, .id = "weight", .title = QStringLiteral("weight"), .limit = 1, .sorted = !lengths});
    for (const analyze::MovedToken& m : moved) {
        TableRow& row = section.rows.emplace_back();
        row.query = m.query, row.key = m.key;
        row.head = id;
        row.cells = {TableCell::of(draw::label_of(trace.labels(), m.query).with_position(m.query)),
                     TableCell::of(draw::label_of(trace.labels(), m.key).with_position(m.key))};
        if (lengths) row.cells.push_back(TableCell::of(m.length));
        row.cells.push_back(TableCell::of(m.weight));
    }
    section.empty = QStringLiteral("Nothing but the first token and the query itself.");
    return table_figure(one_section("reach", std::move(section)));
}

}  // namespace

std::unique_ptr<Figure> reach_view(TracePtr trace, HeadId id, const ReachViewOptions& options, const CancelToken& cancel,
                                   const Progress& progress) {
    std::optional<analyze::Passage> passage;
    if (!options.passage.empty()) {
        passage = analyze::passage_called(*trace, options.passage);
    } else if (options.key) {
        const auto sections = analyze::text_sections(*trace);
        const auto& section = sections[static_cast<std::size_t>(analyze::section_of(sections, *options.key))];
        if (sections.size() > 1) passage = analyze::Passage{section.first, section.last()};
    }
    const ReachPtr all = analyze::reach(*trace, passage, cancel, progress);
    plot::PlotData plots;
    plots.view = "reach";
    plots.title = QStringLiteral("Where layer %1 attends in the text").arg(id.layer.value);
    plots.subtitle = QStringLiteral("%1 tokens, %2 · a line for each head of the layer")
                         .arg(draw::count_text(trace->tokens()), all->sections.size() == 1
                                                                     ? QStringLiteral("one paragraph")
                                                                     : QStringLiteral("%1 paragraphs").arg(all->sections.size()));
    plots.description = QStringLiteral(
        "Where attention goes in a long text, as shares of each query's weight, averaged over the queries. By distance: bins "
        "double. By depth: the first to the last of what a query has read; a curve that is high at both ends and low between is "
        "“lost in the middle”. By paragraph: what later paragraphs give to it; click one to mark it. Every head: the share that "
        "goes to the marked passage from the queries behind it, a needle test on this very text; a retrieval head has its "
        "largest weight on the token that comes next. The list names what the head carries. Liu et al. 2024, Lost in the "
        "Middle; Wu et al. 2024, Retrieval Head Mechanistically Explains Long-Context Factuality.");
    plots.panels = {distance_panel(all, id.layer, trace->config().causal), depth_panel(all, id.layer), section_panel(all, id),
                    heads_panel(all)};
    // A short text fills few of them: the others are words.
    if (std::ranges::any_of(plots.panels, [](const Panel& panel) { return panel.empty.isEmpty(); })) {
        QStringList without;
        for (const Panel& panel : plots.panels)
            if (!panel.empty.isEmpty()) without << panel.title + QStringLiteral(": ") + panel.empty;
        std::erase_if(plots.panels, [](const Panel& panel) { return !panel.empty.isEmpty(); });
        plots.note = without.join(QStringLiteral(" · "));
    }
    StackedParts parts;
    parts.view = "reach";
    parts.title = plots.title;
    parts.description = plots.description;
    parts.fits_first = true;
    parts.table = [all] { return analyze::table_of(*all); };
    parts.arrays = [all] { return analyze::table_of(*all).arrays; };
    parts.parts.push_back(plot::plot_figure(std::move(plots)));
    const analyze::Passage whole{Position(0), Position(trace->tokens() - 1)};
    parts.parts.push_back(moved_table(*trace, id, analyze::moved_tokens(*trace, id, whole, options.moved, cancel)));
    return stacked_figure(std::move(parts));
}

}  // namespace headlight::figure
