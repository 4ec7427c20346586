// SPDX-License-Identifier: GPL-3.0-or-later
// What the model view says about itself: titles, tidy rows, arrays.
#include "figure/pattern/model/model_view_figure.h"

namespace headlight::figure {
namespace {

/// First and last position of the items that a pooled row or column covers.
struct Span {
    std::int64_t first = 0, last = 0;
};
Span span(const std::vector<analyze::AxisItem>& items, std::int64_t cell, std::int64_t cells) {
    const analyze::AxisItem& end = last_item(items, cell, cells);
    return {first_item(items, cell, cells).first.value, end.first.value + end.count - 1};
}

}  // namespace

QString ModelFigure::description() const {
    return QStringLiteral(
               "The attention of the whole model on this text: rows are layers from the first at the top, columns are heads. "
               "For short texts each cell draws one line from the query (left) to the key that it attends to "
               "(right), as strong as the weight; for long texts it is a map with %1 downwards and %2 across, and "
               "each of its cells shows the largest or the mean weight of many pairs, as the legend says. Patterns to look "
               "for: a diagonal attends to itself, a line just below it to the token before, a vertical stripe to one token "
               "that many look at, a stripe far off the diagonal to earlier copies of the same text. A last column and row, "
               "where they are asked for, put the heads of a layer and the layers together. After the model view of "
               "BertViz (Vig 2019, A Multiscale Visualization of Attention in the Transformer Model).")
        .arg(words().queries(), words().keys());
}

analyze::Matrix ModelFigure::drawn_map(HeadId head) const {
    if (shape().lines) return store_->pattern_now(head);
    analyze::PooledMap pooled = store_->data().pooled(head);
    return std::move(options_.mean ? pooled.mean : pooled.max);
}

Table ModelFigure::table() const {
    // One row a mark: strengths that are too faint to be drawn are left out.
    Table table;
    if (shape().lines)
        table.columns = words().columns({"layer", "head", "query", "key", "query_token", "key_token", "weight"});
    else
        table.columns = words().columns({"layer", "head", "query_first", "query_last", "key_first", "key_last",
                                         options_.mean ? "mean_weight" : "max_weight"});
    const auto index = [&](std::int64_t i, std::int64_t count) {
        return i < count ? Table::Cell(i) : Table::Cell(store_->data().together.toStdString());
    };
    for (std::int64_t l = 0; l < shape().grid_layers(); ++l)
        for (std::int64_t h = 0; h < shape().grid_heads(); ++h) {
            const analyze::Matrix map = drawn_map({Layer{l}, Head{h}});
            for (Eigen::Index r = 0; r < map.rows(); ++r)
                for (Eigen::Index c = 0; c < map.cols(); ++c) {
                    if (!(map(r, c) >= least_drawn)) continue;
                    auto& row = table.rows.emplace_back();
                    const Span query = span(axes().queries, r, map.rows()), key = span(axes().keys, c, map.cols());
                    row = {index(l, shape().layers), index(h, shape().heads), query.first};
                    if (shape().lines)
                        row.insert(row.end(), {key.first, axes().queries[static_cast<std::size_t>(r)].label,
                                               axes().keys[static_cast<std::size_t>(c)].label});
                    else
                        row.insert(row.end(), {query.last, key.first, key.last});
                    row.emplace_back(double(map(r, c)));
                }
        }
    return table;
}

std::vector<NamedArray> ModelFigure::arrays() const {
    const std::string name = shape().lines ? "weight" : options_.mean ? "mean_weight" : "max_weight";
    NamedArray array{name, {shape().grid_layers(), shape().grid_heads(), 0, 0}, {}};
    for (std::int64_t l = 0; l < shape().grid_layers(); ++l)
        for (std::int64_t h = 0; h < shape().grid_heads(); ++h) {
            const analyze::Matrix map = drawn_map({Layer{l}, Head{h}});
            array.shape[2] = map.rows();
            array.shape[3] = map.cols();
            array.values.reserve(static_cast<std::size_t>(shape().grid_layers() * shape().grid_heads() * map.size()));
            array.values.insert(array.values.end(), map.data(), map.data() + map.size());
        }
    return {array};
}

}  // namespace headlight::figure
