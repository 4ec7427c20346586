// SPDX-License-Identifier: GPL-3.0-or-later
// Head and matrix view of a trace: gathers their data.
#include "headlight/figure/pattern/pattern_views.h"
#include "figure/core/draw.h"
#include "figure/core/heads_text.h"
#include "figure/pattern/head/head_view.h"
#include "figure/pattern/matrix/matrix_view.h"
#include "figure/pattern/weight_name.h"
#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/analyze/pattern/pooled_axes.h"
#include "headlight/analyze/pattern/sinks.h"
#include "headlight/base/error.h"
#include "headlight/base/memory_account.h"
#include "headlight/base/numbers.h"

#include <QStringList>

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr std::int64_t longest_pooled = 4096, pair_bytes = sizeof(float);

/// What maps of a view may take in memory; those of longer texts are pooled to cells of several pairs, so that they take a
/// quarter.
std::int64_t most_map_bytes() {
    return std::clamp<std::int64_t>(memory_left() / 4, std::int64_t{1} << 26, std::int64_t{1} << 30);
}

/// Cells a side of so many maps; 0: every pair has its own.
std::int64_t cells_of(const analyze::PatternAxes& axes, std::size_t maps) {
    const auto pairs = std::ssize(axes.queries) * std::ssize(axes.keys);
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, maps));
    if (pairs <= most_map_bytes() / pair_bytes / count) return 0;
    const double side = std::sqrt(static_cast<double>(most_map_bytes() / 4 / pair_bytes / count));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(side), 256, longest_pooled);
}

struct Maps {
    analyze::PatternAxes axes;
    std::vector<analyze::Matrix> weights;
    QString pooled;  ///< ", the largest of about 15 × 15 pairs"; empty: each pair by itself
};

/// One after the other; with a weighting of the whole layer each layer's map is computed once.
Maps maps_of(const trace::Trace& trace, const std::vector<HeadId>& heads, const analyze::PatternOptions& options,
             const CancelToken& cancel) {
    Maps maps{.axes = analyze::pattern_axes(trace, options), .weights = {}, .pooled = {}};
    const std::int64_t cells = cells_of(maps.axes, heads.size());
    for (const HeadId head : heads) {
        const bool again = !maps.weights.empty() && analyze::of_whole_layer(options.weighting) &&
                           heads[maps.weights.size() - 1].layer == head.layer;
        maps.weights.push_back(again       ? analyze::Matrix(maps.weights.back())
                               : cells > 0 ? analyze::pooled_pattern(trace, head, options, cells, cancel).max
                                           : analyze::pattern(trace, head, options, cancel));
    }
    if (cells == 0) return maps;
    const std::int64_t pairs = (std::ssize(maps.axes.queries) + cells - 1) / cells;
    maps.pooled = QStringLiteral(", the largest of about %1 × %1 pairs").arg(pairs);
    maps.axes = analyze::pooled_axes(maps.axes, cells);
    return maps;
}

/// Combined maps are of every pair.
void require_room(const analyze::PatternAxes& axes) {
    if (cells_of(axes, 1) == 0) return;
    throw Error({.problem = "The text is too long to combine heads in one map",
                 .expected = "at most " + with_commas(std::int64_t(std::sqrt(double(most_map_bytes() / pair_bytes)))) + " tokens",
                 .found = with_commas(std::ssize(axes.queries)),
                 .hint = "Each head by itself has a map, and the model view shows all"});
}

/// "first token hidden", "sinks hidden: <s> (0), ·the (6)", "12 sinks hidden".
QString hidden_sinks(const trace::Trace& trace) {
    constexpr std::size_t most_named = 4;
    const auto sinks = analyze::attention_sinks(trace);
    const auto axes = analyze::pattern_axes(trace, {});
    QStringList names;
    for (std::size_t j = 0; j < sinks->size(); ++j)
        if ((*sinks)[j]) names << draw::label_of(axes.keys[j]).with_position(Position(std::int64_t(j)));
    if (names.size() <= 1) return QStringLiteral("first token hidden");
    if (static_cast<std::size_t>(names.size()) > most_named) return QStringLiteral("%1 sinks hidden").arg(names.size());
    return QStringLiteral("sinks hidden: ") + names.join(QStringLiteral(", "));
}

}  // namespace

QString weight_name(const analyze::PatternOptions& o, const trace::Trace& trace) {
    const auto text = [](std::string_view words) { return QString::fromUtf8(words.data(), qsizetype(words.size())); };
    QStringList parts{text(enum_row(o.weighting).note)};
    const bool hides = o.hide_sinks || o.hide_special;
    if (o.hide_sinks) parts << hidden_sinks(trace);
    if (o.hide_special) parts << QStringLiteral("special tokens hidden");
    if (hides) parts << (o.renormalise ? QStringLiteral("renormalised") : QStringLiteral("not renormalised"));
    if (o.merge_words) parts << QStringLiteral("words merged");
    if (o.filter != analyze::PairFilter::all) parts << text(enum_row(o.filter).title);
    return parts.join(QStringLiteral(", "));
}

namespace {

/// What the data of head and matrix view have in common.
template <class Data>
Data data_of(const trace::Trace& trace, const analyze::PatternOptions& options) {
    Data data;
    data.axes = analyze::pattern_axes(trace, options);
    data.words = axis_words(trace);
    data.attention = attention_name(trace.config());
    data.causal = trace.config().causal;
    data.weight_name = weight_name(options, trace);
    return data;
}

/// Everything but the weights.
HeadViewData head_view_data(const trace::Trace& trace, Layer layer, std::vector<Head> active,
                            const analyze::PatternOptions& options) {
    std::ranges::sort(active);
    active.erase(std::unique(active.begin(), active.end()), active.end());
    auto data = data_of<HeadViewData>(trace, options);
    data.layer = layer;
    data.n_heads = trace.config().n_heads;
    data.heads = std::move(active);
    return data;
}

}  // namespace

MatrixViewData matrix_data(const trace::Trace& trace, const analyze::PatternOptions& options) {
    return data_of<MatrixViewData>(trace, options);
}

std::unique_ptr<Figure> head_view(TracePtr trace, Layer layer, std::vector<Head> active, const analyze::PatternOptions& options,
                                  const CancelToken& cancel) {
    HeadViewData data = head_view_data(*trace, layer, std::move(active), options);
    data.layer_label = QString::fromStdString(model::layer_label(trace->config(), layer.value));
    std::vector<HeadId> ids;
    for (const Head head : data.heads) ids.push_back({layer, head});
    Maps maps = maps_of(*trace, ids, options, cancel);
    data.axes = std::move(maps.axes);
    data.weights = std::move(maps.weights);
    data.weight_name += maps.pooled;
    return head_figure(std::move(data));
}

std::unique_ptr<Figure> aggregate_head_view(TracePtr trace, Layer layer, std::vector<Head> active, const std::vector<HeadId>& of,
                                            analyze::Aggregate how, const analyze::PatternOptions& options,
                                            const CancelToken& cancel) {
    HeadViewData data = head_view_data(*trace, layer, std::move(active), options);
    data.together = aggregate_name(how, of);
    require_room(data.axes);
    data.weights.push_back(analyze::aggregate_pattern(*trace, of, how, options, cancel));
    return head_figure(std::move(data));
}

std::unique_ptr<Figure> matrix_view(TracePtr trace, std::vector<HeadId> heads, const analyze::PatternOptions& options, bool sums,
                                    const CancelToken& cancel) {
    Maps maps = maps_of(*trace, heads, options, cancel);
    MatrixViewData data = matrix_data(*trace, options);
    data.sums = sums;
    data.heads = std::move(heads);
    data.axes = std::move(maps.axes);
    data.weights = std::move(maps.weights);
    data.weight_name += maps.pooled;
    for (const HeadId head : data.heads) data.windows.push_back(model::window_of(trace->config(), head.layer.value));
    // Only of the plain softmax: merged words have no row in it, and hidden tokens would be missing from the sum.
    const bool plain = options == analyze::PatternOptions{.renormalise = options.renormalise} && maps.pooled.isEmpty();
    if (trace->config().attention_sinks && plain)
        for (const HeadId head : data.heads) data.sinks.push_back(analyze::sink_shares(*trace, head));
    if (!data.sinks.empty()) data.notes.push_back("sink: the share of a row's softmax that goes to no key");
    return matrix_figure(std::move(data));
}

}  // namespace headlight::figure
