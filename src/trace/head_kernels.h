// SPDX-License-Identifier: GPL-3.0-or-later
// What is gathered of a head's pattern while its rows exist: the pooled maps and the head summary, in one pass.
#pragma once

#include "headlight/trace/trace.h"

#include <cstdint>
#include <mutex>
#include <vector>

namespace headlight::trace {

/// What the kernels need to know of the text; one for a whole run.
struct TextFacts {
    std::int64_t tokens = 0;
    bool causal = true;
    std::vector<std::int64_t> special;        ///< positions of special tokens
    std::vector<std::int64_t> previous_same;  ///< nearest earlier position with the same token id, -1: none
    std::vector<std::int64_t> cell_begin;     ///< first position of each pooled cell, and the end

    static TextFacts of(const std::vector<std::int64_t>& ids, const std::vector<bool>& special, bool causal);
};

constexpr std::int64_t kPooledCells = 128;

/// Takes the rows of one head's pattern, in blocks, and ends up with its picture and its numbers.
/// Blocks may come in any order and from several threads; the results depend on neither.
class HeadAccumulator {
public:
    HeadAccumulator(const TextFacts& facts, PooledPattern& pooled, HeadSummary& summary);

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
    struct Block {
        std::int64_t first = 0;
        HeadSummary sums;
        std::int64_t rows = 0, rows_with_two = 0, repeats = 0;
        std::vector<CellRow> edges;
    };
    void add_row(const float* row, std::int64_t i, std::int64_t keys, std::int64_t readable, float* column_max,
                 float* column_sum, Block& block) const;
    CellRow pool_columns(std::int64_t cell, std::int64_t reached, const float* column_max,
                         const float* column_sum) const;
    void write_cells(const CellRow&);
    void finish();

    const TextFacts& facts_;
    PooledPattern& pooled_;
    HeadSummary& summary_;
    std::mutex mutex_;
    std::vector<Block> blocks_;
    std::int64_t rows_seen_ = 0;
};

}  // namespace headlight::trace
