// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/map_layout.h"

#include <algorithm>
#include <utility>

namespace headlight::analyze {
namespace {

enum class Side { a, b, both };

std::pair<Side, Side> sides(PairFilter filter) {
    switch (filter) {
        case PairFilter::all: return {Side::both, Side::both};
        case PairFilter::a_to_a: return {Side::a, Side::a};
        case PairFilter::b_to_b: return {Side::b, Side::b};
        case PairFilter::a_to_b: return {Side::a, Side::b};
        case PairFilter::b_to_a: return {Side::b, Side::a};
    }
    return {Side::both, Side::both};
}

bool on_side(Side side, std::int64_t position, std::int64_t pair_start) {
    return side == Side::both || (side == Side::b) == (position >= pair_start);
}

/// Groups the shown positions of one axis; fills `index_of` on the way.
std::vector<Span> group(const TokenFacts& facts, const std::vector<bool>& shown, bool merge,
                        std::vector<std::int64_t>& index_of) {
    std::vector<Span> spans;
    const std::int64_t n = facts.size();
    index_of.assign(static_cast<std::size_t>(n), -1);
    for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (!shown[at]) continue;
        // Word ids restart in sentence B, so the same id on both sides of the border is not the same word.
        const bool joins = merge && !spans.empty() && i > 0 && shown[at - 1] && facts.words[at] >= 0 &&
                           facts.words[at] == facts.words[at - 1] && i != facts.pair_start;
        if (joins)
            ++spans.back().count;
        else
            spans.push_back({i, 1});
        index_of[at] = static_cast<std::int64_t>(spans.size()) - 1;
    }
    return spans;
}

/// Sum of the span's weights (times norms). Four sums at a time, so that one addition need not wait for the last.
double sum_of(const AttentionRow& row, const Span& span) {
    const std::int64_t end = std::min(span.first + span.count, row.legal);
    double sums[4] = {0, 0, 0, 0};
    std::int64_t j = span.first;
    if (row.norms) {
        for (; j < end; ++j) sums[j % 4] += static_cast<double>(row.weights[j]) * static_cast<double>(row.norms[j]);
    } else {
        for (; j + 4 <= end; j += 4)
            for (int lane = 0; lane < 4; ++lane) sums[lane] += static_cast<double>(row.weights[j + lane]);
        for (; j < end; ++j) sums[0] += static_cast<double>(row.weights[j]);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

bool is_single_run(const std::vector<Span>& spans) {
    for (std::size_t i = 0; i < spans.size(); ++i)
        if (spans[i].count != 1 || spans[i].first != spans[0].first + static_cast<std::int64_t>(i)) return false;
    return true;
}

}  // namespace

MapLayout map_layout(const TokenFacts& facts, const PatternOptions& options) { return map_layout(facts, facts, options); }

MapLayout map_layout(const TokenFacts& queries, const TokenFacts& keys, const PatternOptions& options) {
    const auto [query_side, key_side] = sides(options.filter);
    MapLayout layout;
    layout.tokens = keys.size();
    layout.renormalise = options.renormalise;
    const auto special = [&](const TokenFacts& facts, std::size_t at) { return options.hide_special && facts.special[at]; };
    std::vector<bool> query_shown(queries.words.size()), key_shown(keys.words.size());
    for (std::int64_t i = 0; i < queries.size(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        query_shown[at] = !special(queries, at) && on_side(query_side, i, queries.pair_start);
    }
    for (std::int64_t i = 0; i < keys.size(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool hidden = special(keys, at) || (options.hide_sinks && (keys.sinks.empty() ? i == 0 : keys.sinks[at]));
        if (hidden)
            layout.any_hidden = true;
        else if (!layout.visible.empty() && layout.visible.back().first + layout.visible.back().count == i)
            ++layout.visible.back().count;
        else
            layout.visible.push_back({i, 1});
        key_shown[at] = !hidden && on_side(key_side, i, keys.pair_start);
    }
    layout.queries = group(queries, query_shown, options.merge_words, layout.row_of);
    layout.keys = group(keys, key_shown, options.merge_words, layout.column_of);
    layout.single_run = is_single_run(layout.keys);
    return layout;
}

double row_scale(const AttentionRow& row, const MapLayout& layout) {
    if (row.scale > 0) return row.scale;  // lengths stay lengths, whatever is hidden
    if (layout.any_hidden && layout.renormalise) {
        double sum = 0;
        for (const Span& run : layout.visible) sum += sum_of(row, run);
        return sum == 0 ? 0 : 1 / sum;
    }
    if (!row.norms) return 1;
    const double sum = sum_of(row, {0, layout.tokens});
    return sum == 0 ? 0 : 1 / sum;
}

float prepared_cell(const AttentionRow& row, const Span& key, double scale) {
    const double sum = sum_of(row, key);
    return static_cast<float>(scale == 1 ? sum : std::min(1.0, sum * scale));
}

void add_prepared_row(const AttentionRow& row, const MapLayout& layout, float factor, float* out) {
    if (layout.keys.empty()) return;
    const double scale = row_scale(row, layout);
    if (scale == 0) return;
    const std::int64_t begin = layout.keys.front().first;
    if (layout.single_run && !row.norms) {
        const std::int64_t count = std::min<std::int64_t>(static_cast<std::int64_t>(layout.keys.size()), row.legal - begin);
        const auto whole = static_cast<float>(factor * scale);
        for (std::int64_t c = 0; c < count; ++c) out[c] += std::min(factor, whole * row.weights[begin + c]);
        return;
    }
    for (std::size_t c = 0; c < layout.keys.size() && layout.keys[c].first < row.legal; ++c)
        out[c] += factor * prepared_cell(row, layout.keys[c], scale);
}

std::int64_t legal_columns(const MapLayout& layout, std::int64_t row, bool causal) {
    if (!causal) return static_cast<std::int64_t>(layout.keys.size());
    const Span& query = layout.queries[static_cast<std::size_t>(row)];
    const auto past = std::partition_point(layout.keys.begin(), layout.keys.end(),
                                           [&](const Span& key) { return key.first < query.first + query.count; });
    return past - layout.keys.begin();
}

}  // namespace headlight::analyze
