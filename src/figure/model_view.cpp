// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/model_view_figure.h"
#include "figure/weight_name.h"

#include <mutex>

namespace headlight::figure {
namespace {

constexpr std::int64_t short_text = 40;            ///< up to here a cell draws lines
constexpr std::int64_t line_memory = 256LL << 20;  ///< bytes that the patterns of all heads may take as lines

bool draws_lines(const ModelShape& shape, ModelViewOptions::Cells cells) {
    const auto pairs = shape.rows * shape.columns;
    const bool fits = shape.layers * shape.heads * pairs * 4 <= line_memory && pairs <= 256 * 256;
    switch (cells) {
        case ModelViewOptions::Cells::lines:
            return fits;
        case ModelViewOptions::Cells::maps:
            return false;
        case ModelViewOptions::Cells::automatic:
            break;
    }
    return fits && std::max(shape.rows, shape.columns) <= short_text;
}

/// The last few stores, so that a figure that is made anew (another pane, another theme) keeps its pixels.
struct SharedStore {
    std::weak_ptr<const trace::Trace> trace;
    analyze::PatternOptions options;
    bool lines = true;
    std::weak_ptr<ModelViewStore> store;
};
std::mutex shared_lock;
std::vector<SharedStore> shared_stores;

std::shared_ptr<ModelViewStore> store_for(const TracePtr& trace, const analyze::PatternOptions& options,
                                          ModelViewOptions::Cells cells) {
    const auto& config = trace->config();
    ModelViewData data;
    data.axes = analyze::pattern_axes(*trace, options);
    data.shape = {config.n_layers,
                  config.n_heads,
                  config.n_kv_heads,
                  static_cast<std::int64_t>(data.axes.queries.size()),
                  static_cast<std::int64_t>(data.axes.keys.size()),
                  true};
    data.shape.lines = draws_lines(data.shape, cells);
    data.causal = config.causal;
    if (!(options == analyze::PatternOptions{})) data.weight_name = weight_name(options);
    const std::lock_guard lock(shared_lock);
    std::erase_if(shared_stores, [](const SharedStore& s) { return s.store.expired() || s.trace.expired(); });
    for (const SharedStore& s : shared_stores)
        if (s.trace.lock() == trace && s.options == options && s.lines == data.shape.lines)
            if (auto store = s.store.lock()) return store;
    data.pattern = [trace, options](HeadId head) { return analyze::pattern(*trace, head, options); };
    data.pooled = [trace, options](HeadId head) { return analyze::pooled_pattern(*trace, head, options); };
    data.pooled_at_hand = options == analyze::PatternOptions{} && trace->has_overview();
    auto store = std::make_shared<ModelViewStore>(std::move(data));
    shared_stores.push_back({trace, options, store->data().shape.lines, store});
    return store;
}

}  // namespace

std::unique_ptr<Figure> model_view(TracePtr trace, const analyze::PatternOptions& options,
                                   const ModelViewOptions& view) {
    return std::make_unique<ModelFigure>(store_for(trace, options, view.cells), view);
}

}  // namespace headlight::figure
