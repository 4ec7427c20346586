// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/map_layout.h"

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

bool is_single_run(const std::vector<Span>& spans) {
    for (std::size_t i = 0; i < spans.size(); ++i)
        if (spans[i].count != 1 || spans[i].first != spans[0].first + static_cast<std::int64_t>(i)) return false;
    return true;
}

}  // namespace

MapLayout map_layout(const TokenFacts& facts, const PatternOptions& options) {
    const std::int64_t n = facts.size();
    const auto [query_side, key_side] = sides(options.filter);
    MapLayout layout;
    layout.tokens = n;
    layout.renormalise = options.renormalise;
    layout.hidden.assign(static_cast<std::size_t>(n), false);
    std::vector<bool> query_shown(static_cast<std::size_t>(n)), key_shown(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool special = options.hide_special && facts.special[at];
        layout.hidden[at] = special || (options.hide_first && i == 0);
        layout.any_hidden = layout.any_hidden || layout.hidden[at];
        query_shown[at] = !special && on_side(query_side, i, facts.pair_start);
        key_shown[at] = !layout.hidden[at] && on_side(key_side, i, facts.pair_start);
    }
    layout.queries = group(facts, query_shown, options.merge_words, layout.row_of);
    layout.keys = group(facts, key_shown, options.merge_words, layout.column_of);
    layout.single_run = is_single_run(layout.keys);
    return layout;
}

void add_prepared_row(const float* weights, const float* norms, const MapLayout& layout, float factor, float* out) {
    if (layout.keys.empty()) return;
    const bool over_visible = layout.any_hidden && layout.renormalise;
    double scale = 1;
    if (norms || over_visible) {
        double sum = 0;
        for (std::int64_t j = 0; j < layout.tokens; ++j) {
            if (over_visible && layout.hidden[static_cast<std::size_t>(j)]) continue;
            sum += norms ? static_cast<double>(weights[j]) * norms[j] : weights[j];
        }
        if (sum == 0) return;
        scale = 1 / sum;
    }
    const std::int64_t begin = layout.keys.front().first;
    if (layout.single_run && !norms && scale == 1) {
        const auto count = static_cast<std::int64_t>(layout.keys.size());
        for (std::int64_t c = 0; c < count; ++c) out[c] += factor * weights[begin + c];
        return;
    }
    for (std::size_t c = 0; c < layout.keys.size(); ++c) {
        const Span& span = layout.keys[c];
        double sum = 0;
        for (std::int64_t j = span.first; j < span.first + span.count; ++j)
            sum += norms ? static_cast<double>(weights[j]) * norms[j] : weights[j];
        out[c] += factor * static_cast<float>(scale == 1 ? sum : std::min(1.0, sum * scale));
    }
}

std::int64_t legal_columns(const MapLayout& layout, std::int64_t row, bool causal) {
    if (!causal) return static_cast<std::int64_t>(layout.keys.size());
    const Span& query = layout.queries[static_cast<std::size_t>(row)];
    const auto past = std::partition_point(layout.keys.begin(), layout.keys.end(),
                                           [&](const Span& key) { return key.first < query.first + query.count; });
    return past - layout.keys.begin();
}

}  // namespace headlight::analyze
