// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/sparsity/sparse_row.h"

#include <algorithm>
#include <cstdlib>

namespace headlight::analyze {
namespace {

std::vector<KeyRange> largest_keys(std::int64_t budget, KeyRange legal, const float* weights) {
    if (budget >= legal.last - legal.first) return {legal};
    std::vector<float> sorted(weights + legal.first, weights + legal.last);
    std::ranges::nth_element(sorted, sorted.begin() + (budget - 1), std::greater<>());
    const float least = sorted[static_cast<std::size_t>(budget - 1)];
    std::int64_t ties = budget;
    for (std::int64_t j = legal.first; j < legal.last; ++j) ties -= weights[j] > least;
    std::vector<KeyRange> keys;
    for (std::int64_t j = legal.first; j < legal.last; ++j) {
        if (weights[j] < least || (weights[j] == least && ties-- <= 0)) continue;
        if (!keys.empty() && keys.back().last == j)
            ++keys.back().last;
        else
            keys.push_back({j, j + 1});
    }
    return keys;
}

}  // namespace

KeyRange keys_of_block(const SparsityOptions& o, std::int64_t block, KeyRange legal) {
    return {std::clamp(block * o.select, legal.first, legal.last), std::clamp((block + 1) * o.select, legal.first, legal.last)};
}

KeyRange window_keys(std::int64_t window, std::int64_t query, KeyRange legal) {
    return {std::clamp(query + 1 - window, legal.first, legal.last), legal.last};
}

namespace {

void add_key(std::vector<KeyRange>& ranges, std::int64_t key) {
    if (!ranges.empty() && ranges.back().last == key)
        ++ranges.back().last;
    else
        ranges.push_back({key, key + 1});
}

/// `o` as options_in() gives it: the layer's window, and each global token once, in order.
RowChoice longformer_keys(const SparsityOptions& o, std::int64_t query, KeyRange legal) {
    RowChoice out;
    out.window = {legal.last, legal.last};
    if (std::ranges::binary_search(o.global_tokens, query)) {
        out.selected = {legal};
        return out;
    }
    const std::int64_t half = o.window / 2, d = o.dilation;
    if (d == 1) {
        out.window = {std::max(legal.first, query - half), std::min(legal.last, query + half + 1)};
    } else {
        for (std::int64_t j = query - half * d; j <= query + half * d; j += d)
            if (legal.has(j)) out.dilated.push_back({j, j + 1});
    }
    for (const std::int64_t j : o.global_tokens) {
        const bool near = std::abs(j - query) <= half * d && (j - query) % d == 0;
        if (legal.has(j) && !near) add_key(out.selected, j);
    }
    return out;
}

}  // namespace

RankedBlocks rank_blocks(const SparsityOptions& o, std::int64_t query, KeyRange legal, std::span<const KeySums> group) {
    RankedBlocks out;
    const std::int64_t own = query / o.select, first = legal.first / o.select;
    std::vector<std::pair<double, std::int64_t>> scored;
    for (std::int64_t b = first; b <= own; ++b) {
        if (b == 0 || b >= own - 1) {
            out.forced.push_back(b);
            continue;
        }
        double importance = 0;
        for (const KeySums& sums : group) importance += sums(keys_of_block(o, b, legal));
        scored.emplace_back(-importance, b);
    }
    std::ranges::sort(scored);
    for (const auto& [importance, b] : scored) out.others.push_back(b);
    return out;
}

RowChoice choose_keys(const SparsityOptions& o, std::int64_t query, KeyRange legal, const float* weights,
                      std::span<const KeySums> group) {
    RowChoice out;
    out.window = KeyRange{legal.last, legal.last};
    switch (o.scheme) {
        case SparseScheme::window: out.window = window_keys(o.window, query, legal); break;
        case SparseScheme::sinks:
            out.window = window_keys(o.window, query, legal);
            if (legal.first < o.sinks) out.selected = {{legal.first, std::min(o.sinks, legal.last)}};
            break;
        case SparseScheme::longformer: return longformer_keys(o, query, legal);
        case SparseScheme::topk: out.selected = largest_keys(o.budget, legal, weights); break;
        case SparseScheme::nsa: {
            out.window = window_keys(o.window, query, legal);
            RankedBlocks blocks = rank_blocks(o, query, legal, group);
            std::vector<std::int64_t> read = std::move(blocks.forced);
            const auto more = std::min(std::ssize(blocks.others), o.top - std::ssize(read));
            read.insert(read.end(), blocks.others.begin(), blocks.others.begin() + std::max<std::int64_t>(0, more));
            std::ranges::sort(read);
            for (const std::int64_t b : read) out.selected.push_back(keys_of_block(o, b, legal));
            // Blocks c d ... c d + l - 1 that end at the query or before it, and begin where it may look.
            const std::int64_t begin = (legal.first + o.stride - 1) / o.stride;
            const std::int64_t end = legal.last >= o.block ? (legal.last - o.block) / o.stride + 1 : 0;
            out.compressed_blocks = std::max<std::int64_t>(0, end - begin);
            if (out.compressed_blocks > 0) out.compressed = {begin * o.stride, (end - 1) * o.stride + o.block};
            break;
        }
    }
    return out;
}

}  // namespace headlight::analyze
