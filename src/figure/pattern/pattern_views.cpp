// SPDX-License-Identifier: GPL-3.0-or-later
// Head and matrix view of a trace: gathers their data.
#include "headlight/figure/pattern/pattern_views.h"
#include "figure/core/draw.h"
#include "figure/core/heads_text.h"
#include "figure/core/weight_name.h"
#include "figure/pattern/head/head_view.h"
#include "figure/pattern/matrix/matrix_view.h"
#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/analyze/pattern/sinks.h"
#include "headlight/base/error.h"

#include <QStringList>

#include <algorithm>

namespace headlight::figure {
namespace {

/// One after the other; with a weighting of the whole layer each layer's map is computed once.
std::vector<analyze::Matrix> patterns_of(const trace::Trace& trace, const std::vector<HeadId>& heads,
                                         const analyze::PatternOptions& options, const CancelToken& cancel) {
    std::vector<analyze::Matrix> maps;
    for (const HeadId head : heads) {
        const bool again =
            !maps.empty() && analyze::of_whole_layer(options.weighting) && heads[maps.size() - 1].layer == head.layer;
        maps.push_back(again ? analyze::Matrix(maps.back()) : analyze::pattern(trace, head, options, cancel));
    }
    return maps;
}

}  // namespace

namespace {

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

/// Everything but the weights.
HeadViewData head_view_data(const trace::Trace& trace, Layer layer, std::vector<Head> active,
                            const analyze::PatternOptions& options) {
    std::sort(active.begin(), active.end());
    active.erase(std::unique(active.begin(), active.end()), active.end());
    HeadViewData data;
    data.layer = layer;
    data.n_heads = trace.config().n_heads;
    data.heads = std::move(active);
    data.axes = analyze::pattern_axes(trace, options);
    data.words = axis_words(trace);
    data.attention = attention_name(trace.config());
    data.causal = trace.config().causal;
    data.weight_name = weight_name(options, trace);
    return data;
}

}  // namespace

std::unique_ptr<Figure> head_view(TracePtr trace, Layer layer, std::vector<Head> active, const analyze::PatternOptions& options,
                                  const CancelToken& cancel) {
    HeadViewData data = head_view_data(*trace, layer, std::move(active), options);
    data.layer_label = QString::fromStdString(model::layer_label(trace->config(), layer.value));
    std::vector<HeadId> ids;
    for (const Head head : data.heads) ids.push_back({layer, head});
    data.weights = patterns_of(*trace, ids, options, cancel);
    return head_figure(std::move(data));
}

std::unique_ptr<Figure> aggregate_head_view(TracePtr trace, Layer layer, std::vector<Head> active, const std::vector<HeadId>& of,
                                            analyze::Aggregate how, const analyze::PatternOptions& options,
                                            const CancelToken& cancel) {
    HeadViewData data = head_view_data(*trace, layer, std::move(active), options);
    data.together = aggregate_name(how, of);
    data.weights.push_back(analyze::aggregate_pattern(*trace, of, how, options, cancel));
    return head_figure(std::move(data));
}

std::unique_ptr<Figure> matrix_view(TracePtr trace, std::vector<HeadId> heads, const analyze::PatternOptions& options, bool sums,
                                    const CancelToken& cancel) {
    MatrixViewData data;
    data.sums = sums;
    data.heads = std::move(heads);
    data.axes = analyze::pattern_axes(*trace, options);
    data.words = axis_words(*trace);
    data.attention = attention_name(trace->config());
    data.causal = trace->config().causal;
    data.weight_name = weight_name(options, *trace);
    data.weights = patterns_of(*trace, data.heads, options, cancel);
    for (const HeadId head : data.heads) data.windows.push_back(model::window_of(trace->config(), head.layer.value));
    // Only of the plain softmax: merged words have no row in it, and hidden tokens would be missing from the sum.
    const bool plain = options == analyze::PatternOptions{.renormalise = options.renormalise};
    if (trace->config().attention_sinks && plain)
        for (const HeadId head : data.heads) data.sinks.push_back(analyze::sink_shares(*trace, head));
    if (!data.sinks.empty()) data.notes.push_back("sink: the share of a row's softmax that goes to no key");
    return matrix_figure(std::move(data));
}

}  // namespace headlight::figure
