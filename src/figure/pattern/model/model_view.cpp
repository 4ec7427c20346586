// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/heads_text.h"
#include "figure/pattern/model/model_view_figure.h"
#include "figure/pattern/weight_name.h"
#include "headlight/analyze/contribution/value_mix.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace headlight::figure {
namespace {

constexpr std::int64_t short_text = 40;            ///< up to here a cell draws lines
constexpr std::int64_t line_memory = 256LL << 20;  ///< bytes that the patterns of all heads may take as lines

bool draws_lines(const ModelShape& shape, ModelViewOptions::Cells cells) {
    const auto pairs = shape.rows * shape.columns;
    const bool fits = shape.layers * shape.heads * pairs * 4 <= line_memory && pairs <= 256 * 256;
    switch (cells) {
        case ModelViewOptions::Cells::lines: return fits;
        case ModelViewOptions::Cells::maps: return false;
        case ModelViewOptions::Cells::automatic: break;
    }
    return fits && std::max(shape.rows, shape.columns) <= short_text;
}

/// What needs another store.
struct StoreKey {
    analyze::PatternOptions options;
    ModelViewOptions view;
    bool lines = true;
    bool operator==(const StoreKey&) const = default;
};

/// Lets figures of equal data share their pixels. The store holds the trace, so the trace must not hold the store.
struct SharedStore {
    mutable std::mutex mutex;
    mutable std::weak_ptr<ModelViewStore> store;
};

/// Maps of a weighting of the whole layer, computed once for all heads of a layer. Thread-safe.
class LayerMaps {
public:
    LayerMaps(TracePtr trace, const analyze::PatternOptions& options) : trace_(std::move(trace)), options_(options) {}

    analyze::Matrix pattern(HeadId head) {
        const std::lock_guard lock(whole_mutex_);
        if (last_ != head.layer) {  // of full size: only one, asked for by one head after the other
            whole_ = analyze::pattern(*trace_, head, options_);
            last_ = head.layer;
        }
        return whole_;
    }

    analyze::PooledMap pooled(HeadId head) {
        const std::lock_guard lock(pooled_mutex_);
        auto found = pooled_.find(head.layer);
        if (found == pooled_.end()) found = pooled_.emplace(head.layer, analyze::pooled_pattern(*trace_, head, options_)).first;
        analyze::PooledMap map = found->second;
        map.head = head;
        return map;
    }

private:
    TracePtr trace_;
    analyze::PatternOptions options_;
    std::mutex whole_mutex_, pooled_mutex_;
    std::optional<Layer> last_;
    analyze::Matrix whole_;
    std::map<Layer, analyze::PooledMap> pooled_;
};

/// Which heads a cell combines: those chosen of a layer, of the chosen layers, or both.
std::map<HeadId, std::vector<HeadId>> cells_together(const ModelShape& shape, const ModelViewOptions& view) {
    std::vector<Layer> layers = view.layers;
    std::vector<Head> heads = view.heads;
    if (layers.empty())
        for (std::int64_t l = 0; l < shape.layers; ++l) layers.emplace_back(l);
    if (heads.empty())
        for (std::int64_t h = 0; h < shape.heads; ++h) heads.emplace_back(h);
    std::map<HeadId, std::vector<HeadId>> cells;
    const Layer below(shape.layers);
    const Head beside(shape.heads);
    for (std::int64_t l = 0; l < shape.layers; ++l)
        for (const Head head : heads) cells[{Layer(l), beside}].push_back({Layer(l), head});
    for (std::int64_t h = 0; h < shape.heads; ++h)
        for (const Layer layer : layers) cells[{below, Head(h)}].push_back({layer, Head(h)});
    for (const Layer layer : layers)
        for (const Head head : heads) cells[{below, beside}].push_back({layer, head});
    return cells;
}

void combine(ModelViewData& data, const TracePtr& trace, const analyze::PatternOptions& options, const ModelViewOptions& view,
             const CancelToken& cancel) {
    const analyze::Aggregate how = *view.together;
    const auto cells = cells_together(data.shape, view);
    data.together = QString::fromUtf8(enum_word(how).data());
    std::map<HeadId, analyze::PooledMap> maps;
    for (const auto& [cell, heads] : cells) {
        data.names[cell] = aggregate_name(how, heads);
        if (data.shape.lines) continue;
        // Long texts: here, beside the window, and not in a frame.
        const HeadId before{cell.layer, Head(cell.head.value - 1)};
        const bool again = analyze::of_whole_layer(options.weighting) && maps.contains(before) &&
                           cells.at(before).size() == heads.size();  // both over the same layers
        maps[cell] = again ? maps.at(before) : analyze::pooled_aggregate(*trace, heads, how, options, 128, cancel);
    }
    data.pattern = [cells, trace, options, how, one = std::move(data.pattern)](HeadId cell) {
        const auto found = cells.find(cell);
        return found == cells.end() ? one(cell) : analyze::aggregate_pattern(*trace, found->second, how, options);
    };
    data.pooled = [maps = std::move(maps), one = std::move(data.pooled)](HeadId cell) {
        const auto found = maps.find(cell);
        return found == maps.end() ? one(cell) : found->second;
    };
}

std::shared_ptr<ModelViewStore> store_for(const TracePtr& trace, const analyze::PatternOptions& options,
                                          const ModelViewOptions& view, const CancelToken& cancel) {
    const auto& config = trace->config();
    ModelViewData data;
    data.axes = analyze::pattern_axes(*trace, options);
    data.words = axis_words(*trace);
    data.attention = attention_name(config);
    data.shape = {config.n_layers,
                  config.n_heads,
                  config.n_kv_heads,
                  std::ssize(data.axes.queries),
                  std::ssize(data.axes.keys),
                  true,
                  view.together.has_value()};
    data.shape.lines = draws_lines(data.shape, view.cells);
    data.causal = config.causal;
    if (!view.together) data.windows = config.windows;
    for (std::int64_t l = 0; l < config.n_layers; ++l)
        data.labels.push_back(QString::fromStdString(model::layer_label(config, l)));
    if (std::ranges::all_of(data.labels, [](const QString& label) { return label.isEmpty(); })) data.labels.clear();
    if (!(options == analyze::PatternOptions{})) data.weight_name = weight_name(options, *trace);
    const ModelViewOptions kept{.detail = {}, .together = view.together, .layers = view.layers, .heads = view.heads};
    const auto shared = trace->results().get(
        StoreKey{options, kept, data.shape.lines}, [] { return std::make_shared<SharedStore>(); },
        [](const auto&) { return static_cast<std::int64_t>(sizeof(SharedStore)); });
    const SharedStore& slot = **shared;
    {
        const std::lock_guard lock(slot.mutex);
        if (auto store = slot.store.lock()) return store;
    }
    data.pattern = [trace, options](HeadId head) { return analyze::pattern(*trace, head, options); };
    data.pooled = [trace, options](HeadId head) { return analyze::pooled_pattern(*trace, head, options); };
    if (!view.together) {
        data.finer = [trace, options](HeadId head, std::int64_t side) {
            return analyze::pooled_pattern(*trace, head, options, side);
        };
    }
    if (analyze::of_whole_layer(options.weighting)) {
        const auto maps = std::make_shared<LayerMaps>(trace, options);
        data.pattern = [maps](HeadId head) { return maps->pattern(head); };
        data.pooled = [maps](HeadId head) { return maps->pooled(head); };
    }
    data.pooled_at_hand = options == analyze::PatternOptions{} && trace->overview().pooled;
    if (view.together) combine(data, trace, options, view, cancel);
    auto store = std::make_shared<ModelViewStore>(std::move(data));
    store->prepare(cancel);
    const std::lock_guard lock(slot.mutex);
    slot.store = store;
    return store;
}

}  // namespace

std::unique_ptr<Figure> model_view(TracePtr trace, const analyze::PatternOptions& options, const ModelViewOptions& view,
                                   const CancelToken& cancel) {
    return std::make_unique<ModelFigure>(store_for(trace, options, view, cancel), view);
}

}  // namespace headlight::figure
