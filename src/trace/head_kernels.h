// SPDX-License-Identifier: GPL-3.0-or-later
// What is gathered of a head's pattern while its rows exist: the pooled maps and the head's numbers, in one pass.
#pragma once

#include "headlight/trace/head_numbers.h"
#include "headlight/trace/trace.h"
#include "model/arithmetic/kernels.h"
#include "trace/row_kernel.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace headlight::trace {

/// What all heads of one window share.
struct PatternFacts {
    PatternFacts(const PatternShape&, const text::Tokenizer&, const text::Encoding& keys, const HeadOverview&);
    PatternFacts(const PatternShape&, std::unique_ptr<const HeadNumbers>);

    PatternShape shape;
    bool pooled = true;                          ///< pooled maps are made
    std::vector<std::int64_t> cell_begin;        ///< first row of each pooled cell, and the end
    std::vector<std::int64_t> column_begin;      ///< the same of keys
    std::unique_ptr<const HeadNumbers> numbers;  ///< nullptr: none
    model::KeyRange distances;                   ///< whose diagonals the numbers want; empty: none
};

constexpr std::int64_t kPooledCells = 128;

/// A head's numbers, without row 0 of a causal model and with it. In other models the two are equal. Empty: none.
struct GatheredNumbers {
    std::vector<double> usual, with_first_row;
    std::vector<std::int64_t> rows;  ///< that the usual numbers are over
};

/// Takes the rows of one head's pattern, in blocks, and ends up with its picture and its numbers.
/// Blocks may come in any order and from several threads; the results depend on neither.
class HeadAccumulator {
public:
    HeadAccumulator(const PatternFacts& facts, PooledPattern& pooled, GatheredNumbers& numbers);

    /// Length of v_j W_O of every key [keys], before the first rows.
    void set_value_norms(std::vector<float> norms);
    /// The same of each key, until the last rows are added; empty: not known.
    std::span<const float> value_norms() const noexcept {
        return std::span(value_norms_).first(value_norms_.empty() ? 0 : static_cast<std::size_t>(facts_.shape.keys));
    }
    /// Rows [first, first + count) with `keys` columns each (columns from `keys` on are zero), `stride` floats apart.
    /// Every row once; the last block writes the results. `logs` of each row, or none.
    void add_rows(const float* rows, std::int64_t first, std::int64_t count, std::int64_t keys, std::int64_t stride,
                  std::span<const model::RowLogs> logs = {});

private:
    /// Columns of a cell row that a block has only a part of.
    struct CellRow {
        std::int64_t cell = 0;
        std::vector<float> max;
        std::vector<double> sum;
    };
    struct Block {
        std::int64_t first = 0;
        RowSums sums;
        std::vector<CellRow> edges;
    };
    struct Rows {
        const float* weights;
        std::int64_t first, count, keys, stride;
        std::span<const model::RowLogs> logs;
    };
    /// Sums over a few rows: down the columns, and along the diagonals ([queries - 1 - distance]) whose numbers are gathered.
    struct Sums {
        std::vector<float> column_max, column_sum, diagonal;
    };
    void add_to_columns(const Rows&, std::int64_t first, std::int64_t behind, Sums&) const;
    void add_rows_together(const Rows&, std::int64_t first, std::int64_t behind, Sums&, Block& block);
    void add_numbers(const Rows&, std::int64_t i, const model::KeyRange& legal, const RowNumbers&, double distance, Block& block);
    void add_diagonals(const Rows&, std::int64_t first, std::int64_t behind, float* diagonal) const;
    CellRow pool_columns(std::int64_t cell, std::int64_t reached, const Sums&) const;
    void write_cells(const CellRow&);
    void finish();

    const PatternFacts& facts_;
    PooledPattern& pooled_;
    GatheredNumbers& numbers_;
    std::vector<float> value_norms_;  ///< [keys + a step]; empty: not known
    double value_norm_sum_ = 0;
    RowSums first_row_;  ///< row 0 of a causal model
    std::mutex mutex_;
    std::vector<Block> blocks_;
    std::int64_t rows_seen_ = 0;
};

}  // namespace headlight::trace
