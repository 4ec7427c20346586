// SPDX-License-Identifier: GPL-3.0-or-later
// Head, matrix and model view of layers without a softmax: their implied maps, on scales symmetric around 0.
#include "figure/pattern/implied_views.h"

#include "figure/core/axis_words.h"
#include "figure/core/draw.h"
#include "figure/pattern/head/head_view.h"
#include "figure/pattern/matrix/matrix_view.h"
#include "figure/pattern/model/signed_maps.h"
#include "headlight/analyze/pattern/implied.h"
#include "headlight/analyze/pattern/pooled_axes.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::figure {
namespace {

constexpr std::int64_t most_cells = 2048;       ///< a side of the maps of one layer
constexpr std::int64_t most_small_cells = 128;  ///< of the model's

const QString kWhat = QStringLiteral("implied attention: signed, rows do not sum to 1");

/// What every description says of such a map.
QString definition() {
    return QStringLiteral(
        " This layer has no softmax: it updates a state, linearly in its inputs. Unrolled, that is one weight for each query and "
        "each key before it, the implied attention, exact for this text: the map times the values is what the update gives. "
        "Weights have both signs and rows do not sum to 1. In Mamba-2 the weight of a key is the product of the query (C) "
        "with the key (B), times the key's step, times what is left of the state between the two. Dao and Gu, “Transformers are "
        "SSMs”, 2024; Ali et al., “The Hidden Attention of Mamba Models”, 2024.");
}

void require_plain(const analyze::PatternOptions& options) {
    if (options == analyze::PatternOptions{.renormalise = options.renormalise}) return;
    throw Error({.problem = "An implied map has no other weighting, and none of its tokens can be hidden or merged",
                 .found = "an option of softmax weights",
                 .hint = "Choose the attention weight, all pairs, and hide and merge nothing"});
}

void require_layer(const trace::Trace& trace, Layer layer) {
    if (model::has_implied_map(trace.config(), layer.value)) return;
    throw Error({.problem = "This layer has softmax attention", .item = "layer " + std::to_string(layer.value)});
}

/// Maps of a layer's heads and their axes, pooled where the text is long.
struct ImpliedMaps {
    analyze::PatternAxes axes;
    std::vector<analyze::Matrix> maps;
    QString pooled;  ///< "a cell is the farthest from 0 of about 3 × 3 pairs"; empty: each pair by itself
};

ImpliedMaps maps_of_layer(const trace::Trace& trace, Layer layer, const std::vector<Head>& heads, const CancelToken& cancel) {
    require_layer(trace, layer);
    ImpliedMaps out{.axes = analyze::pattern_axes(trace, {}), .maps = {}, .pooled = {}};
    for (const Head head : heads) out.maps.push_back(analyze::implied_map(trace, {layer, head}, most_cells, cancel));
    if (trace.tokens() <= most_cells) return out;
    out.axes = analyze::pooled_axes(out.axes, most_cells);
    const std::int64_t pairs = (trace.tokens() + most_cells - 1) / most_cells;
    out.pooled = QStringLiteral("a cell is the farthest from 0 of about %1 × %1 pairs").arg(pairs);
    return out;
}

analyze::Matrix without_gaps(const analyze::Matrix& map) {
    return map.unaryExpr([](float x) { return std::isfinite(x) ? x : 0.0F; });
}

QString heads_name(Layer layer, const std::vector<Head>& heads) {
    return heads.size() == 1 ? head_name({layer, heads.front()})
                             : QStringLiteral("layer %1, mean of %2 heads").arg(layer.value).arg(heads.size());
}

}  // namespace

std::unique_ptr<Figure> implied_head_view(TracePtr trace, Layer layer, std::vector<Head> heads,
                                          const analyze::PatternOptions& options, const CancelToken& cancel) {
    require_plain(options);
    std::ranges::sort(heads);
    heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
    ImpliedMaps maps = maps_of_layer(*trace, layer, heads, cancel);
    analyze::Matrix mean = analyze::Matrix::Zero(maps.maps.front().rows(), maps.maps.front().cols());
    for (const analyze::Matrix& map : maps.maps) mean += without_gaps(map) / static_cast<float>(heads.size());
    HeadViewData data;
    data.layer = layer;
    data.n_heads = trace->config().n_heads;
    data.words = axis_words(*trace);
    data.axes = std::move(maps.axes);
    data.causal = false;  // pairs without a weight have no line
    data.difference = true;
    data.differences = maps.maps.front().array().isFinite().count();
    data.limit = static_cast<double>(symmetric_limit({mean}));
    data.weights = {mean.cwiseMax(0), (-mean).cwiseMax(0)};
    data.together = QStringLiteral("implied attention, ") + heads_name(layer, heads);
    data.heads = std::move(heads);
    data.plus = QStringLiteral("weight above 0");
    data.minus = QStringLiteral("weight below 0");
    data.signed_name = QStringLiteral("implied weight");
    data.weight_name = kWhat + (maps.pooled.isEmpty() ? QString() : QStringLiteral(" · ") + maps.pooled);
    data.signed_description = QStringLiteral(
                                  "Each line joins a query (left) with a key (right), blue where the key adds to what the query "
                                  "gets and orange where it is taken from it, in the mean of the heads that were chosen.") +
                              definition();
    return head_figure(std::move(data));
}

std::unique_ptr<Figure> implied_matrix_view(TracePtr trace, std::vector<HeadId> heads, const analyze::PatternOptions& options,
                                            bool sums, const CancelToken& cancel) {
    require_plain(options);
    MatrixViewData data = matrix_data(*trace);
    for (const HeadId id : heads) {
        ImpliedMaps maps = maps_of_layer(*trace, id.layer, {id.head}, cancel);
        data.weights.push_back(without_gaps(maps.maps.front()));
        data.axes = std::move(maps.axes);
        if (!maps.pooled.isEmpty() && data.notes.empty()) data.notes.push_back(maps.pooled.toStdString());
    }
    data.weight_name = QStringLiteral("implied weight");
    data.notes.push_back("signed, rows do not sum to 1");
    data.heads = std::move(heads);
    data.sums = sums;
    data.diverging = {Eigen::VectorXf::Zero(std::ssize(data.axes.queries)), symmetric_limit(data.weights)};
    data.value_word = QStringLiteral("implied weight");
    data.column = "implied_weight";
    data.title = QStringLiteral("Implied attention, ") +
                 (data.heads.size() == 1 ? head_name(data.heads.front()) : QStringLiteral("%1 heads").arg(data.heads.size()));
    data.description = QStringLiteral(
                           "Each row is a query, each column a key; blue is a weight above 0, orange one below, on one scale "
                           "symmetric around 0. Later tokens are masked. Zoomed out, a pixel is the farthest from 0 of the pairs "
                           "under it.") +
                       definition();
    return matrix_figure(std::move(data));
}

std::unique_ptr<Figure> implied_model_view(TracePtr trace, const analyze::PatternOptions& options, const CancelToken& cancel) {
    require_plain(options);
    const model::ModelConfig& c = trace->config();
    SignedMaps data;
    data.layers = c.n_layers;
    data.heads = c.n_heads;
    data.table.columns = {"layer", "head", "largest_implied_weight", "smallest_implied_weight"};
    std::vector<std::pair<float, float>> ends;
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        for (std::int64_t h = 0; h < c.n_heads; ++h) {
            auto& [low, high] = ends.emplace_back(0.0F, 0.0F);
            analyze::Matrix& map = data.maps.emplace_back();
            double& farthest = data.values.emplace_back(0.0);
            if (!model::has_implied_map(c, l)) continue;
            map = analyze::implied_map(*trace, {Layer(l), Head(h)}, most_small_cells, cancel);
            for (const float x : map.reshaped()) {
                if (!std::isfinite(x)) continue;
                low = std::min(low, x);
                high = std::max(high, x);
            }
            farthest = static_cast<double>(high >= -low ? high : low);
            data.table.add({l, h, static_cast<double>(high), static_cast<double>(low)});
        }
    data.tip = [ends = std::move(ends), n = c.n_heads](std::size_t i) {
        const auto at = static_cast<std::int64_t>(i);
        return QStringLiteral("%1  implied weights from %2 to %3")
            .arg(head_name({Layer(at / n), Head(at % n)}), draw::value_text(static_cast<double>(ends[i].first)),
                 draw::value_text(static_cast<double>(ends[i].second)));
    };
    data.title = QStringLiteral("Implied attention of every head");
    data.words = kWhat;
    data.scale_name = QStringLiteral("implied weight");
    data.array = "implied_weight";
    data.description = QStringLiteral(
                           "The implied attention of every head: rows of the grid are layers, columns heads; in a map, rows are "
                           "queries and columns keys. Blue is a weight above 0, orange one below, all on one scale symmetric "
                           "around 0, so that heads with small weights are pale. Where a map has more pairs than pixels, a pixel "
                           "is the farthest from 0 of its pairs. A click selects the head.") +
                       definition();
    return signed_maps_figure(std::move(data));
}

}  // namespace headlight::figure
