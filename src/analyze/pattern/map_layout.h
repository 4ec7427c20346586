// SPDX-License-Identifier: GPL-3.0-or-later
// Which positions a prepared map's rows and columns stand for, and how one row of weights becomes one row of the map.
// Knows no tensors: everything here is tested on plain numbers.
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

/// What the layout needs to know of a text.
struct TokenFacts {
    std::vector<bool> special;        ///< [token] put in by the tokenizer ([CLS]); not: [UNK], which stands for what was typed
    std::vector<std::int64_t> words;  ///< [token] word id, -1 for tokens that are no word
    std::int64_t pair_start = 0;      ///< first position of sentence B; number of tokens without a pair
    std::vector<bool> sinks{};        ///< [token] hidden with the sinks; empty: the first one
    std::int64_t size() const noexcept { return static_cast<std::int64_t>(words.size()); }
};

/// Consecutive positions [first, first + count).
struct Span {
    std::int64_t first = 0;
    std::int64_t count = 1;
    bool operator==(const Span&) const = default;
};

struct MapLayout {
    std::int64_t tokens = 0;              ///< that can be attended to
    std::vector<Span> queries, keys;      ///< sorted; spans of one axis do not overlap
    std::vector<std::int64_t> row_of;     ///< [token] row, -1: not shown
    std::vector<std::int64_t> column_of;  ///< [token] column, -1: not shown
    std::vector<Span> visible;  ///< runs of keys that hide_sinks and hide_special leave (the pair filter does not count)
    bool any_hidden = false;
    bool renormalise = true;
    bool single_run = false;  ///< every column is one position and they follow each other: a plain slice
};

MapLayout map_layout(const TokenFacts&, const PatternOptions&);
/// Of one text that attends to another.
MapLayout map_layout(const TokenFacts& queries, const TokenFacts& keys, const PatternOptions&);

/// One attention row before it is prepared. Weights from `legal` on are 0 and are not read.
struct AttentionRow {
    const float* weights = nullptr;  ///< [token]
    const float* norms = nullptr;    ///< [token], or null: a_ij n_j / sum_j a_ij n_j
    std::int64_t legal = 0;
    double scale = 0;  ///< what the products are multiplied with instead of the row's sum; 0: by the row
};

/// What the row's weights (times norms) are multiplied with: 1, or 1 / sum over the keys that count; 0 where these have
/// no weight at all.
double row_scale(const AttentionRow&, const MapLayout&);
/// The prepared weight on one column.
float prepared_cell(const AttentionRow&, const Span& key, double scale);
/// Adds factor * (the prepared row) to out[keys].
void add_prepared_row(const AttentionRow&, const MapLayout&, float factor, float* out);

/// Number of columns, counted from the first, that a row may attend to.
std::int64_t legal_columns(const MapLayout&, std::int64_t row, bool causal);

}  // namespace headlight::analyze
