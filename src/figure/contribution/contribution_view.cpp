// SPDX-License-Identifier: GPL-3.0-or-later
// The graph with what one of its lines is made of below: heads, and one head's weights beside its contributions.
#include "figure/contribution/contribution_graph.h"
#include "figure/contribution/contribution_views.h"
#include "figure/pattern/matrix/matrix_view.h"
#include "figure/table/stacked_figure.h"
#include "figure/table/table_figure.h"
#include "headlight/trace/whole.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

using analyze::ContributionEdge;

struct GraphKey {
    Position target;
    double threshold;
    bool keep_sizes;
    bool operator==(const GraphKey&) const = default;
};

struct SharesKey {
    HeadId head;
    bool cross;
    bool operator==(const SharesKey&) const = default;
};

std::int64_t bytes_of_graph(const analyze::ContributionGraph& graph) {
    std::size_t bytes = graph.edges.size() * sizeof(ContributionEdge);
    for (const ContributionEdge& edge : graph.edges) bytes += edge.heads.size() * sizeof(edge.heads[0]);
    return static_cast<std::int64_t>(bytes);
}

const ContributionEdge* find_edge(const analyze::ContributionGraph& graph, const EdgeName& name) {
    for (const ContributionEdge& edge : graph.edges)
        if (name_of_edge(edge) == name) return &edge;
    return nullptr;
}

/// The attention whose heads an edge goes through.
const trace::Trace& attention_of(const trace::Trace& run, const ContributionEdge& edge) {
    return edge.kind == analyze::EdgeKind::cross ? *run.part(model::Stack::cross)
           : edge.in_encoder                     ? *run.part(model::Stack::encoder)
                                                 : run;
}

/// Heads of the edge with the weight of their attention beside the share of the state that it brought.
std::unique_ptr<Figure> heads_table(const trace::Trace& trace, const ContributionGraphData& data, const ContributionEdge& edge) {
    const AxisWords words = axis_words(trace);
    const auto named = [&](ContributionToken t) {
        const QString name = draw::label_of((t.of_source ? data.source : data.tokens)[static_cast<std::size_t>(t.position)])
                                 .with_position(Position(t.position));
        return t.of_source ? words.named_key(name) : words.named_query(name);
    };
    std::vector<HeadId> heads;
    for (const auto& head : edge.heads) heads.push_back({Layer(edge.layer), Head(head.first)});
    const analyze::Matrix weights = analyze::pattern_row(trace, heads, edge.to, {});
    TableSection section;
    section.title = with_attention(QStringLiteral("Layer %1").arg(edge.layer), attention_name(trace.config())) +
                    QStringLiteral(": what %1 got from %2").arg(named(to_token(edge)), named(from_token(edge)));
    section.note = QStringLiteral("Heads over the threshold, as shares of the state behind attention.") +
                   (edge.in_encoder ? QStringLiteral(" The maps are the first one's.") : QString());
    if (!edge.in_encoder) section.hint = QStringLiteral("Click a head for its maps.");
    section.columns = {{.kind = ColumnKind::text, .id = "head", .title = QStringLiteral("head")},
                       {.kind = ColumnKind::bar, .id = "contribution", .title = QStringLiteral("contribution"), .decimals = 4},
                       {.kind = ColumnKind::bar, .id = "attention", .title = QStringLiteral("attention weight"), .limit = 1}};
    for (std::size_t i = 0; i < heads.size(); ++i) {
        TableRow& row = section.rows.emplace_back();
        if (!edge.in_encoder) row.head = heads[i];  // heads in focus are the decoder's: the encoder may have more of them
        row.cells = {TableCell::of(head_name(heads[i])), TableCell::of(edge.heads[i].second),
                     TableCell::of(static_cast<double>(weights(static_cast<Eigen::Index>(i), edge.from)))};
    }
    return table_figure(one_section("contribution-graph", std::move(section)));
}

std::unique_ptr<Figure> map_of(const trace::Trace& trace, HeadId head, const QString& name, analyze::Matrix values, double full,
                               const QString& word, const ContributionEdge& edge) {
    MatrixViewData data;
    data.heads = {head};
    data.names = {head_name(head) + u' ' + name};
    data.weights = {std::move(values)};
    data.axes = analyze::pattern_axes(trace, {});
    data.words = axis_words(trace);
    data.attention = attention_name(trace.config());
    data.causal = trace.config().causal;
    data.weight_name = word;
    data.value_word = word;
    data.view = "contribution-graph";
    data.title = data.names.front();
    // Two digits are enough for the legend, and nothing is cut off.
    const double step = full > 0 ? std::pow(10.0, std::floor(std::log10(full)) - 1) : 1;
    data.full = full > 0 ? std::min(1.0, std::ceil(full / step) * step) : 1;
    MatrixViewData::Marks marks;
    marks.lead.clear();
    marks.kinds = {{QStringLiteral("the chosen line"), QColor(0xd9480f), QColor(0xffa94d)}};
    marks.columns.assign(data.axes.queries.size(), -1);
    marks.kind_of.assign(data.axes.queries.size(), 0);
    if (const std::int64_t row = data.axes.query_row(Position(edge.to)); row >= 0)
        marks.columns[static_cast<std::size_t>(row)] = data.axes.key_column(Position(edge.from));
    data.marks = std::move(marks);
    return matrix_figure(std::move(data));
}

std::unique_ptr<Figure> maps_of(const trace::Trace& trace, HeadId head, const analyze::Matrix& shares,
                                const ContributionEdge& edge) {
    StackedParts across;
    across.view = "contribution-graph";
    across.across = true;
    across.parts.push_back(map_of(trace, head, QStringLiteral("attention weights"), analyze::pattern(trace, head, {}), 1,
                                  QStringLiteral("weight"), edge));
    across.parts.push_back(map_of(trace, head, QStringLiteral("contributions"), shares, static_cast<double>(shares.maxCoeff()),
                                  QStringLiteral("share"), edge));
    return stacked_figure(std::move(across));
}

}  // namespace

std::unique_ptr<Figure> contribution_graph_view(TracePtr trace, Position target, const ContributionViewOptions& options,
                                                const CancelToken& cancel, const Progress& progress) {
    // A decoder's graph is of the whole run; the encoder alone has its own.
    const TracePtr stream = trace->across_texts() ? trace::whole_of(trace) : trace;
    ContributionGraphData data;
    data.chosen = edge_name(options.edge);
    data.keep_sizes = options.asked.keep_sizes;
    data.across = trace->across_texts();
    data.graph = stream->results().get(
        GraphKey{target, options.asked.least_share, options.asked.keep_sizes},
        [&] {
            return analyze::contribution_graph(
                *stream, target,
                {.threshold = options.asked.least_share, .renormalise = !options.asked.keep_sizes, .from_layer = 0}, cancel,
                progress);
        },
        bytes_of_graph);
    data.trace = stream;
    data.tokens = analyze::pattern_axes(*stream, {}).keys;
    if (const auto& encoder = stream->part(model::Stack::encoder)) data.source = analyze::pattern_axes(*encoder, {}).keys;
    const ContributionEdge* edge = data.chosen ? find_edge(*data.graph, *data.chosen) : nullptr;
    if (!edge) {
        data.chosen.reset();
        return std::make_unique<ContributionFigure>(std::move(data));
    }
    const bool its = !edge->in_encoder && options.head.layer.value == edge->layer &&
                     std::ranges::any_of(edge->heads, [&](const auto& h) { return h.first == options.head.head.value; });
    const HeadId head = its ? options.head : HeadId{Layer(edge->layer), Head(edge->heads.front().first)};
    const trace::Trace& attention = attention_of(*stream, *edge);
    const TracePtr owner = edge->in_encoder ? stream->part(model::Stack::encoder) : stream;
    const bool cross = edge->kind == analyze::EdgeKind::cross;
    const auto shares = owner->results().get(
        SharesKey{head, cross},
        [&]() -> analyze::Matrix {
            return (cross ? analyze::cross_contribution_map(*stream, head, cancel)
                          : analyze::head_contribution_map(attention, head, cancel))
                .cast<float>();
        },
        [](const analyze::Matrix& map) { return static_cast<std::int64_t>(sizeof(float)) * map.size(); });
    const ContributionEdge chosen = *edge;
    StackedParts parts;
    parts.view = "contribution-graph";
    parts.opened = 1;
    auto table = heads_table(attention, data, chosen);
    auto figure = std::make_unique<ContributionFigure>(std::move(data));
    parts.title = figure->title();
    parts.description = figure->description();
    parts.parts.push_back(std::move(figure));
    parts.parts.push_back(std::move(table));
    parts.parts.push_back(maps_of(attention, head, *shares, chosen));
    return stacked_figure(std::move(parts));
}

}  // namespace headlight::figure
