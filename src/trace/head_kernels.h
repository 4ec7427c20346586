// SPDX-License-Identifier: GPL-3.0-or-later
// What is gathered of a head's pattern while its rows exist: the pooled maps and the head summary, in one pass.
#pragma once

#include "headlight/model/config.h"
#include "headlight/text/tokenizer.h"
#include "headlight/trace/trace.h"
#include "trace/row_kernel.h"

#include <cstdint>
#include <mutex>
#include <vector>

namespace headlight::trace {

/// What the kernels need to know of the text; one for a whole run.
struct TextFacts {
    std::int64_t tokens = 0;
    std::int64_t keys = 0;  ///< as many as tokens, unless another text is looked at
    bool across = false;    ///< rows look at another text; what follows is of that text
    bool causal = true;
    std::int64_t window = 0;                                     ///< keys at this distance or farther are illegal; 0: no limit
    std::vector<std::int64_t> special;                           ///< positions of special tokens
    bool starts_special = false;                                 ///< position 0 is one: [CLS], <s>
    std::vector<std::int64_t> separators;                        ///< special tokens behind the first position: [SEP], </s>
    std::vector<bool> is_separator;                              ///< [position]
    std::vector<std::int64_t> period_or_comma, any_punctuation;  ///< positions
    std::vector<std::int64_t> previous_same;                     ///< nearest earlier position with the same token id, -1: none
    std::vector<std::int64_t> cell_begin;                        ///< first row of each pooled cell, and the end
    std::vector<std::int64_t> column_begin;                      ///< the same of keys

    double uniform = 0, uniform_with_first = 0;  ///< entropy of uniform attention without and with row 0; NaN: no rows

    static TextFacts of(const std::vector<std::int64_t>& ids, const std::vector<bool>& special, bool causal,
                        const text::Punctuation& = {}, std::int64_t window = 0);
    /// Queries of a text that look at all of another.
    static TextFacts across_texts(std::int64_t queries, const text::Encoding& keys, const text::Punctuation&);
    model::KeyRange legal(std::int64_t row) const noexcept { return model::legal_keys(row, keys, causal, window); }
};

constexpr std::int64_t kPooledCells = 128;

/// A head's numbers, without row 0 of a causal model and with it. In other models the two are equal.
struct HeadSummaries {
    HeadSummary usual, with_first_row;
};

/// Takes the rows of one head's pattern, in blocks, and ends up with its picture and its numbers.
/// Blocks may come in any order and from several threads; the results depend on neither.
class HeadAccumulator {
public:
    HeadAccumulator(const TextFacts& facts, PooledPattern& pooled, HeadSummaries& summaries);

    /// Length of v_j W_O of every key [tokens], before the first rows. Without it the value-weighted numbers are NaN.
    void set_value_norms(std::vector<float> norms);
    /// Rows [first, first + count) with `keys` columns each (columns from `keys` on are zero), `stride` floats apart.
    /// Every row once; the last block writes the results.
    void add_rows(const float* rows, std::int64_t first, std::int64_t count, std::int64_t keys, std::int64_t stride);

private:
    /// Columns of a cell row that a block has only a part of.
    struct CellRow {
        std::int64_t cell = 0;
        std::vector<float> max;
        std::vector<double> sum;
    };
    /// Sums over rows, and how many rows each mean is over.
    struct Sums {
        HeadSummary of;
        std::int64_t rows = 0, with_previous = 0, with_two = 0, repeats = 0, weighted = 0, separator_rows = 0;
        double entropy_cls = 0;
        void add(const Sums&);
    };
    struct Block {
        std::int64_t first = 0;
        Sums sums;
        std::vector<CellRow> edges;
    };
    void add_row(const float* row, std::int64_t i, model::KeyRange legal, std::int64_t readable, const RowColumns&, Block& block);
    void add_row_across(const float* row, std::int64_t readable, const RowColumns&, Block& block);
    void add_shares(const float* row, std::int64_t i, std::int64_t keys, double scaled_sum, Sums&) const;
    void add_repeats(const float* row, std::int64_t i, Sums&) const;
    void add_column_sums(const float* column_sum, std::int64_t reached, Sums&) const;
    HeadSummary means(const Sums&, double uniform) const;
    CellRow pool_columns(std::int64_t cell, std::int64_t reached, const float* column_max, const float* column_sum) const;
    void write_cells(const CellRow&);
    void finish();

    const TextFacts& facts_;
    PooledPattern& pooled_;
    HeadSummaries& summaries_;
    std::vector<float> value_norms_;  ///< [tokens + a step]
    double value_norm_sum_ = 0;
    Sums first_row_;  ///< row 0 of a causal model
    std::mutex mutex_;
    std::vector<Block> blocks_;
    std::int64_t rows_seen_ = 0;
};

}  // namespace headlight::trace
