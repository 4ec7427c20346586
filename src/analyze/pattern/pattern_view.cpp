// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/pattern/pooled_axes.h"

#include "analyze/contribution/mix_rows.h"
#include "analyze/pattern/head_reader.h"
#include "analyze/pattern/map_layout.h"
#include "analyze/pattern/pooling.h"
#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace headlight::analyze {
namespace {

/// A mark has the letter before it to stand on, and needs no circle; a joiner joins.
std::string inside_word(const std::string& label) {
    constexpr std::string_view circle = "◌";
    if (label == "‹ZWJ›") return "\u200D";
    if (label == "‹ZWNJ›") return "\u200C";
    return label.starts_with(circle) ? label.substr(circle.size()) : label;
}

AxisItem axis_item(const std::vector<text::TokenLabel>& labels, const TokenFacts& facts, const Span& span) {
    AxisItem item;
    item.continuation = labels[static_cast<std::size_t>(span.first)].continuation;
    item.special = labels[static_cast<std::size_t>(span.first)].special;
    item.first = Position(span.first);
    item.count = span.count;
    item.sentence = span.first >= facts.pair_start ? 1 : 0;
    for (std::int64_t p = span.first; p < span.first + span.count; ++p) {
        const auto& label = labels[static_cast<std::size_t>(p)];
        // The other bytes of a character that starts inside the word only repeat a placeholder.
        if (p > span.first && label.join_count > 1 && label.join_first != p) continue;
        item.label += p > span.first ? inside_word(label.text) : label.text;
    }
    return item;
}

std::int64_t find_item(const std::vector<AxisItem>& items, Position position) noexcept {
    const auto past =
        std::upper_bound(items.begin(), items.end(), position, [](Position p, const AxisItem& item) { return p < item.first; });
    if (past == items.begin()) return -1;
    const AxisItem& item = *(past - 1);
    if (position.value >= item.first.value + item.count) return -1;
    return past - 1 - items.begin();
}

/// The longest |f_h(x_j)| of a layer.
double longest_output(const trace::Trace& trace, Layer layer) {
    double longest = 0;
    for (std::int64_t h = 0; h < trace.config().n_heads; ++h)
        longest = std::max(longest, output_norms(trace, {layer, Head(h)}).max().item<double>());
    return longest;
}

std::optional<MixScope> scope_of(Weighting weighting) {
    switch (weighting) {
        case Weighting::layer_mix: return MixScope::attention;
        case Weighting::layer_mix_residual: return MixScope::attention_residual;
        case Weighting::layer_mix_norm: return MixScope::with_norm;
        default: return std::nullopt;
    }
}

/// Norms that the weighting multiplies with; undefined for plain attention.
at::Tensor weighting_norms(const trace::Trace& trace, HeadId id, Weighting weighting) {
    switch (weighting) {
        case Weighting::attention: return {};
        case Weighting::value_norm: return value_norms(trace, id);
        case Weighting::output_norm:
        case Weighting::output_length: return output_norms(trace, id);
        case Weighting::layer_mix:
        case Weighting::layer_mix_residual:
        case Weighting::layer_mix_norm: break;  // the rows are lengths already; only their sums are taken out
    }
    return at::ones({trace.keys()}, at::kFloat);
}

/// The numbers that are prepared: the head's pattern, or the map of its layer.
void for_each_weight_row(const trace::Trace& trace, HeadId id, Weighting weighting, std::int64_t first, std::int64_t count,
                         const RowFn& fn, const CancelToken& cancel = {}) {
    const auto scope = scope_of(weighting);
    if (!scope) return for_each_pattern_row(trace, id, first, count, fn, cancel);
    if (count < 1) return;
    const std::int64_t block = row_block(trace);
    const MixRows mix(trace, id.layer, *scope, ReadableKeys(trace, id.layer)(first + count - 1));
    for (std::int64_t row = first; row < first + count; row += block) {
        cancel.throw_if_cancelled();
        const Matrix rows = mix.rows(row, std::min(block, first + count - row));
        for (Eigen::Index i = 0; i < rows.rows(); ++i) fn(row + i, rows.data() + i * rows.cols());
    }
}

/// The head before it in a list has the same map.
bool repeats(const std::vector<HeadId>& heads, std::size_t h, Weighting weighting) {
    return h > 0 && of_whole_layer(weighting) && heads[h].layer == heads[h - 1].layer;
}

void check_index(std::int64_t index, std::size_t count, const char* what) {
    if (index >= 0 && index < static_cast<std::int64_t>(count)) return;
    throw Error(ErrorFacts{.problem = "The map has no such " + std::string(what),
                           .item = std::to_string(index),
                           .expected = "less than " + std::to_string(count)});
}

/// What is the same for every row of one head.
struct HeadRows {
    at::Tensor norms;
    ReadableKeys readable;
    double scale = 0;
    HeadRows(const trace::Trace& trace, HeadId id, Weighting weighting)
        : norms(weighting_norms(trace, id, weighting)), readable(trace, id.layer) {
        if (weighting != Weighting::output_length) return;
        const double longest = longest_output(trace, id.layer);
        scale = longest > 0 ? 1 / longest : 1;
    }
    AttentionRow row(std::int64_t position, const float* weights) const {
        return {weights, norms.defined() ? norms.data_ptr<float>() : nullptr, readable(position), scale};
    }
};

MapLayout layout_of(const trace::Trace& trace, const PatternOptions& options) {
    return map_layout(token_facts(trace), key_facts(trace, options), options);
}

bool is_plain(const PatternOptions& options) {
    return options.filter == PairFilter::all && options.weighting == Weighting::attention && !options.hide_sinks &&
           !options.hide_special && !options.merge_words;
}

/// The run's own picture, pooled on to `cells` a side. Exact: no cell is cut, and means are weighted by legal pairs.
PooledMap from_overview(const trace::Trace& trace, HeadId id, std::int64_t cells) {
    const trace::PooledPattern& made = trace.pooled(id.layer, id.head);
    const Eigen::Map<const Matrix> max(made.max.data(), made.rows, made.cols);
    const Eigen::Map<const Matrix> mean(made.mean.data(), made.rows, made.cols);
    if (cells == made.rows) return {.head = id, .max = max, .mean = mean};

    const std::int64_t n = trace.tokens(), fold = made.rows / cells;
    const bool causal = trace.config().causal;
    const auto legal_pairs = [&](std::int64_t r, std::int64_t c) {
        const std::int64_t q0 = r * n / made.rows, q1 = (r + 1) * n / made.rows;
        const std::int64_t k0 = c * n / made.cols, width = (c + 1) * n / made.cols - k0;
        if (model::window_of(trace.config(), id.layer.value) != 0) {
            std::int64_t pairs = 0;
            for (std::int64_t q = q0; q < q1; ++q) {
                const model::KeyRange legal = legal_keys_of(trace, id.layer, Position(q));
                pairs += std::max<std::int64_t>(0, std::min(legal.last, k0 + width) - std::max(legal.first, k0));
            }
            return static_cast<double>(pairs);
        }
        if (!causal) return static_cast<double>((q1 - q0) * width);
        const auto triangle = [width](std::int64_t x) {  // pairs of the rows before the x-th behind the cell's first key
            const std::int64_t inside = std::clamp<std::int64_t>(x, 0, width);
            return inside * (inside + 1) / 2 + std::max<std::int64_t>(x - width, 0) * width;
        };
        return static_cast<double>(triangle(q1 - k0) - triangle(q0 - k0));
    };
    PooledMap map{.head = id, .max = Matrix::Zero(cells, cells), .mean = Matrix::Zero(cells, cells)};
    for (std::int64_t r = 0; r < cells; ++r) {
        for (std::int64_t c = 0; c < cells; ++c) {
            double sum = 0, count = 0;
            for (std::int64_t i = r * fold; i < (r + 1) * fold; ++i) {
                for (std::int64_t j = c * fold; j < (c + 1) * fold; ++j) {
                    const double pairs = legal_pairs(i, j);
                    if (pairs == 0) continue;
                    map.max(r, c) = std::max(map.max(r, c), max(i, j));
                    sum += pairs * mean(i, j);
                    count += pairs;
                }
            }
            if (count > 0) map.mean(r, c) = static_cast<float>(sum / count);
        }
    }
    return map;
}

}  // namespace

void for_each_prepared_row(const trace::Trace& trace, HeadId id, const MapLayout& layout, Weighting weighting, const RowFn& fn,
                           const CancelToken& cancel) {
    if (layout.queries.empty()) return;
    const HeadRows head(trace, id, weighting);
    const std::int64_t first = layout.queries.front().first;
    const std::int64_t end = layout.queries.back().first + layout.queries.back().count;
    std::vector<float> prepared(layout.keys.size(), 0.0F);
    const auto take = [&](std::int64_t position, const float* weights) {
        const std::int64_t row = layout.row_of[static_cast<std::size_t>(position)];
        if (row < 0) return;
        const Span& span = layout.queries[static_cast<std::size_t>(row)];
        if (position == span.first) std::fill(prepared.begin(), prepared.end(), 0.0F);
        const float share = 1.0F / static_cast<float>(span.count);
        add_prepared_row(head.row(position, weights), layout, share, prepared.data());
        if (position == span.first + span.count - 1) fn(row, prepared.data());
    };
    for_each_weight_row(trace, id, weighting, first, end - first, take, cancel);
}

std::int64_t PatternAxes::query_row(Position position) const noexcept { return find_item(queries, position); }
std::int64_t PatternAxes::key_column(Position position) const noexcept { return find_item(keys, position); }

PatternAxes pattern_axes(const trace::Trace& trace, const PatternOptions& options) {
    const TokenFacts queries = token_facts(trace), keys = key_facts(trace, options);
    const MapLayout layout = map_layout(queries, keys, options);
    PatternAxes axes;
    axes.queries.reserve(layout.queries.size());
    axes.keys.reserve(layout.keys.size());
    for (const Span& span : layout.queries) axes.queries.push_back(axis_item(trace.labels(), queries, span));
    for (const Span& span : layout.keys) axes.keys.push_back(axis_item(trace.key_labels(), keys, span));
    return axes;
}

Matrix pattern(const trace::Trace& trace, HeadId id, const PatternOptions& options, const CancelToken& cancel) {
    check_head(trace, id);
    const MapLayout layout = layout_of(trace, options);
    Matrix map(static_cast<Eigen::Index>(layout.queries.size()), static_cast<Eigen::Index>(layout.keys.size()));
    const auto copy = [&](std::int64_t row, const float* prepared) {
        std::copy_n(prepared, map.cols(), map.data() + row * map.cols());
    };
    for_each_prepared_row(trace, id, layout, options.weighting, copy, cancel);
    return map;
}

Matrix pattern_row(const trace::Trace& trace, const std::vector<HeadId>& heads, std::int64_t row, const PatternOptions& options) {
    const MapLayout layout = layout_of(trace, options);
    check_index(row, layout.queries.size(), "row");
    const Span span = layout.queries[static_cast<std::size_t>(row)];
    Matrix rows = Matrix::Zero(static_cast<Eigen::Index>(heads.size()), static_cast<Eigen::Index>(layout.keys.size()));
    const float share = 1.0F / static_cast<float>(span.count);
    for (std::size_t h = 0; h < heads.size(); ++h) {
        check_head(trace, heads[h]);
        if (repeats(heads, h, options.weighting)) {
            rows.row(static_cast<Eigen::Index>(h)) = rows.row(static_cast<Eigen::Index>(h) - 1);
            continue;
        }
        const HeadRows head(trace, heads[h], options.weighting);
        float* out = rows.data() + static_cast<std::int64_t>(h) * rows.cols();
        for_each_weight_row(trace, heads[h], options.weighting, span.first, span.count,
                            [&](std::int64_t position, const float* weights) {
                                add_prepared_row(head.row(position, weights), layout, share, out);
                            });
    }
    return rows;
}

Matrix pattern_column(const trace::Trace& trace, const std::vector<HeadId>& heads, std::int64_t column,
                      const PatternOptions& options) {
    const MapLayout layout = layout_of(trace, options);
    check_index(column, layout.keys.size(), "column");
    const Span key = layout.keys[static_cast<std::size_t>(column)];
    Matrix columns = Matrix::Zero(static_cast<Eigen::Index>(heads.size()), static_cast<Eigen::Index>(layout.queries.size()));
    for (std::size_t h = 0; h < heads.size(); ++h) {
        check_head(trace, heads[h]);
        const auto at = static_cast<Eigen::Index>(h);
        if (is_plain(options)) {
            const at::Tensor plain = trace::pattern_column(trace, heads[h].layer, heads[h].head, Position(key.first));
            columns.row(at) = to_vector(plain).transpose();
            continue;
        }
        if (repeats(heads, h, options.weighting)) {
            columns.row(at) = columns.row(at - 1);
            continue;
        }
        // Renormalising needs whole rows; those before the key cannot attend to it.
        const HeadRows head(trace, heads[h], options.weighting);
        const std::int64_t first = head.readable.only_past() ? key.first : 0;
        for_each_weight_row(trace, heads[h], options.weighting, first, trace.tokens() - first,
                            [&](std::int64_t i, const float* weights) {
                                const std::int64_t row = layout.row_of[static_cast<std::size_t>(i)];
                                if (row < 0) return;
                                const AttentionRow attention = head.row(i, weights);
                                const auto share = 1.0F / static_cast<float>(layout.queries[static_cast<std::size_t>(row)].count);
                                columns(at, row) += share * prepared_cell(attention, key, row_scale(attention, layout));
                            });
    }
    return columns;
}

Matrix scores(const trace::Trace& trace, HeadId id) {
    check_head(trace, id);
    const std::int64_t n = trace.tokens(), keys = trace.keys();
    const std::int64_t block = row_block(trace);
    Matrix map(n, keys);
    for (std::int64_t row = 0; row < n; row += block) {
        const std::int64_t rows = std::min(block, n - row);
        map.middleRows(row, rows) = to_matrix(trace::score_rows(trace, id.layer, id.head, row, rows));
    }
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t i = 0; i < n; ++i) {
        const model::KeyRange legal = legal_keys_of(trace, id.layer, Position(i));
        map.row(i).head(legal.first).setConstant(nan);
        map.row(i).tail(keys - legal.last).setConstant(nan);
    }
    return map;
}

PatternAxes pooled_axes(const PatternAxes& axes, std::int64_t side) {
    const auto pooled = [side](const std::vector<AxisItem>& items) {
        const auto count = static_cast<std::int64_t>(items.size()), cells = std::min(count, side);
        std::vector<AxisItem> out;
        for (std::int64_t c = 0; c < cells; ++c) {
            const AxisItem& last = items[static_cast<std::size_t>((c + 1) * count / cells - 1)];
            AxisItem& item = out.emplace_back(items[static_cast<std::size_t>(c * count / cells)]);
            if (item.first == last.first) continue;
            item.label = with_commas(item.first.value) + " " + item.continuation + item.label + " … " + last.label;
            item.continuation.clear();
            item.count = last.first.value + last.count - item.first.value;
        }
        return out;
    };
    return {.queries = pooled(axes.queries), .keys = pooled(axes.keys)};
}

PooledMap pooled_pattern(const trace::Trace& trace, HeadId id, const PatternOptions& options, std::int64_t side) {
    return pooled_pattern(trace, id, options, side, CancelToken());
}

PooledMap pooled_pattern(const trace::Trace& trace, HeadId id, const PatternOptions& options, std::int64_t side,
                         const CancelToken& cancel) {
    check_head(trace, id);
    if (side < 1)
        throw Error(ErrorFacts{.problem = "A pooled map needs at least one cell a side", .found = std::to_string(side)});
    if (is_plain(options) && trace.overview().pooled && !trace.across_texts()) {
        const std::int64_t made = trace.pooled(id.layer, id.head).rows;
        const std::int64_t cells = repooled_side(made, side);
        const bool wants_more = side > made && trace.tokens() > made;
        // A small text can be pooled anew at once; a coarse divisor would show less than was asked for.
        if (!wants_more && cells * 2 > std::min(side, made)) return from_overview(trace, id, cells);
    }
    const MapLayout layout = layout_of(trace, options);
    Pooler pooler(static_cast<std::int64_t>(layout.queries.size()), static_cast<std::int64_t>(layout.keys.size()), side);
    const bool causal = trace.config().causal;
    const auto add = [&](std::int64_t row, const float* prepared) {
        pooler.add(row, prepared, legal_columns(layout, row, causal));
    };
    for_each_prepared_row(trace, id, layout, options.weighting, add, cancel);
    return pooler.result(id);
}

}  // namespace headlight::analyze
