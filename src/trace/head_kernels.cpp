// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/head_kernels.h"

#include "headlight/base/error.h"
#include "headlight/base/flush_denormals.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <atomic>

namespace headlight::trace {
namespace {

/// Pairs (i, j) of [i0, i1) x [j0, j1) that the model may use.
std::int64_t legal_pairs(const PatternFacts& facts, std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
    if (facts.shape.window <= 0 && (!facts.shape.causal || j1 <= i0 + 1)) return (i1 - i0) * (j1 - j0);
    std::int64_t pairs = 0;
    for (std::int64_t i = i0; i < i1; ++i) {
        const model::KeyRange keys = facts.shape.legal(i);
        pairs += std::max<std::int64_t>(0, std::min(keys.last, j1) - std::max(keys.first, j0));
    }
    return pairs;
}

constexpr std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<std::int64_t> cells_of(std::int64_t positions) {
    const std::int64_t cells = std::min(positions, kPooledCells);
    std::vector<std::int64_t> begin;
    for (std::int64_t c = 0; c <= cells; ++c) begin.push_back(c * positions / std::max<std::int64_t>(cells, 1));
    return begin;
}

std::atomic<MakeHeadNumbers> g_make_numbers = nullptr;

}  // namespace

bool gather_head_numbers(MakeHeadNumbers make) noexcept {
    g_make_numbers = make;
    return true;
}

MakeHeadNumbers gathered_head_numbers() noexcept { return g_make_numbers; }

PatternFacts::PatternFacts(const PatternShape& of, const text::Tokenizer& tokenizer, const text::Encoding& columns,
                           bool with_pictures)
    : PatternFacts(of, gathered_head_numbers() ? gathered_head_numbers()(of, tokenizer, columns) : nullptr) {
    pictures = with_pictures;
}

PatternFacts::PatternFacts(const PatternShape& of, std::unique_ptr<const HeadNumbers> gathered)
    : shape(of), cell_begin(cells_of(of.queries)), column_begin(cells_of(of.keys)), numbers(std::move(gathered)) {}

HeadAccumulator::HeadAccumulator(const PatternFacts& facts, PooledPattern& pooled, GatheredNumbers& numbers)
    : facts_(facts), pooled_(pooled), numbers_(numbers), first_row_(facts.numbers ? facts.numbers->size() : 0) {
    if (!facts.pictures) return;
    pooled_.rows = std::min(facts.shape.queries, kPooledCells);
    pooled_.cols = std::min(facts.shape.keys, kPooledCells);
    const auto cells = static_cast<std::size_t>(pooled_.rows * pooled_.cols);
    pooled_.max.assign(cells, 0.0F);
    pooled_.mean.assign(cells, 0.0F);
}

void HeadAccumulator::set_value_norms(std::vector<float> norms) {
    value_norm_sum_ = 0;
    // A token before the first counted one is an earlier stretch's, as a value too.
    for (std::size_t j = index(facts_.shape.first_counted); j < norms.size(); ++j)
        value_norm_sum_ += static_cast<double>(norms[j]);
    norms.resize(index(facts_.shape.keys + kRowLanes), 0.0F);
    value_norms_ = std::move(norms);
}

void HeadAccumulator::add_rows(const float* weights, std::int64_t first, std::int64_t count, std::int64_t keys,
                               std::int64_t stride, std::span<const model::RowLogs> logs) {
    const FlushDenormals flush;
    const Rows rows{weights, first, count, keys, stride, logs};
    thread_local std::vector<float> column_max, column_sum;
    column_sum.assign(index(keys + kRowLanes), 0.0F);
    Block block{first, RowSums(first_row_.size()), {}};
    if (facts_.pictures)
        column_max.assign(index(keys + kRowLanes), 0.0F);
    else
        add_rows_to_numbers(rows, {nullptr, column_sum.data()}, block);
    const RowColumns columns{column_max.data(), column_sum.data()};
    const std::vector<std::int64_t>& begin = facts_.cell_begin;
    std::int64_t cell = std::upper_bound(begin.begin(), begin.end(), first) - begin.begin() - 1;
    for (std::int64_t i = first; facts_.pictures && i < first + count; ++cell) {
        const std::int64_t start = i, end = std::min(begin[index(cell + 1)], first + count);
        for (; i < end; ++i) add_row(rows, i, columns, block);
        const std::int64_t reached = facts_.shape.causal ? std::min(keys, end) : keys;
        if (facts_.numbers) facts_.numbers->add_columns(column_sum.data(), reached, 1, block.sums);
        CellRow pooled = pool_columns(cell, reached, column_max.data(), column_sum.data());
        const bool whole = start == begin[index(cell)] && end == begin[index(cell + 1)];
        if (whole)
            write_cells(pooled);
        else
            block.edges.push_back(std::move(pooled));
        std::fill_n(column_max.begin(), reached, 0.0F);
        std::fill_n(column_sum.begin(), reached, 0.0F);
    }
    const std::lock_guard lock(mutex_);
    blocks_.push_back(std::move(block));
    rows_seen_ += count;
    if (rows_seen_ == facts_.shape.queries) finish();
}

/// Columns are summed over few rows in float32, like those of a cell of the pictures.
void HeadAccumulator::add_rows_to_numbers(const Rows& rows, const RowColumns& columns, Block& block) {
    constexpr std::int64_t kRows = 16;
    const std::int64_t behind = rows.first + rows.count;
    for (std::int64_t i = rows.first; i < behind;) {
        const std::int64_t end = std::min(i + kRows, behind);
        for (; i < end; ++i) add_row(rows, i, columns, block);
        if (!facts_.numbers) continue;
        const std::int64_t reached = facts_.shape.causal ? std::min(rows.keys, end) : rows.keys;
        facts_.numbers->add_columns(columns.sum, reached, 1, block.sums);
        std::fill_n(columns.sum, reached, 0.0F);
    }
}

void HeadAccumulator::add_row(const Rows& rows, std::int64_t i, const RowColumns& columns, Block& block) {
    const float* const row = rows.weights + (i - rows.first) * rows.stride;
    const std::int64_t readable = i + 1 < rows.first + rows.count ? std::max(rows.keys, rows.stride) : rows.keys;
    model::KeyRange legal = facts_.shape.legal(i);
    legal.last = std::min(legal.last, rows.keys);
    const PatternShape& shape = facts_.shape;
    thread_local std::vector<float> zeros;
    if (value_norms_.empty() && zeros.size() < index(shape.keys + kRowLanes)) zeros.assign(index(shape.keys + kRowLanes), 0.0F);
    const float* factor = value_norms_.empty() ? zeros.data() : value_norms_.data();
    const std::int64_t keys = legal.last, start = legal.first, behind = shape.across ? keys : i + 1;
    const auto floor = static_cast<float>(0.0001 / static_cast<double>(legal.count()));
    const model::RowLogs* const logs = rows.logs.empty() ? nullptr : &rows.logs[index(i - rows.first)];
    const auto pass = [&](std::int64_t from, std::int64_t to, RowNumbers& out) {
        row_pass({row + from, to - from, readable - from, factor + from, floor, logs == nullptr},
                 {columns.max ? columns.max + from : nullptr, columns.sum + from}, out);
    };
    RowNumbers numbers, later;  // keys up to i, and behind it
    pass(start, behind, numbers);
    numbers.index += static_cast<double>(start) * numbers.sum;
    if (keys > behind) pass(behind, keys, later);
    if (!facts_.numbers) return;
    const double plogp = logs ? logs->weighted + logs->factor * (numbers.sum + later.sum) : numbers.plogp + later.plogp;
    const PatternRow result{
        .shape = shape,
        .weights = row,
        .lengths = value_norms_.empty() ? nullptr : factor,
        .query = i,
        .legal = legal,
        .entropy = -plogp,
        .smoothed_entropy = -(numbers.smoothed + later.smoothed),
        .distance = shape.across ? 0 : static_cast<double>(i) * numbers.sum - numbers.index + later.index + later.sum,
        .weighted_length = numbers.scaled + later.scaled,
        .largest = std::max(numbers.largest, later.largest),
        .second = std::max({std::min(numbers.largest, later.largest), numbers.second, later.second})};
    if (i < shape.first_counted) {  // the column sums of its block have it
        facts_.numbers->add_columns(row, keys, -1, block.sums);
        return;
    }
    if (!shape.causal || i > 0) {
        facts_.numbers->add_row(result, block.sums);
        return;
    }
    // Row 0 of a causal model can only attend to itself: kept apart. The column sums of its block have it too: it moves over.
    facts_.numbers->add_row(result, first_row_);
    facts_.numbers->add_columns(row, 1, 1, first_row_);
    facts_.numbers->add_columns(row, 1, -1, block.sums);
}

HeadAccumulator::CellRow HeadAccumulator::pool_columns(std::int64_t cell, std::int64_t reached, const float* column_max,
                                                       const float* column_sum) const {
    CellRow result;
    result.cell = cell;
    const std::vector<std::int64_t>& begin = facts_.column_begin;
    result.max.reserve(index(pooled_.cols));
    result.sum.reserve(index(pooled_.cols));
    std::int64_t j = 0;
    for (std::int64_t c = 0; c < pooled_.cols && j < reached; ++c) {
        const std::int64_t end = std::min(begin[index(c + 1)], reached);
        float largest = 0, sum = 0;
        double total = 0;
        for (std::int64_t run = 0; j < end; ++j) {
            largest = column_max[j] > largest ? column_max[j] : largest;
            sum += column_sum[j];
            if (++run % 8 == 0) {
                total += static_cast<double>(sum);
                sum = 0;
            }
        }
        result.max.push_back(largest);
        result.sum.push_back(total + static_cast<double>(sum));
    }
    return result;
}

void HeadAccumulator::write_cells(const CellRow& row) {
    const std::vector<std::int64_t>& begin = facts_.column_begin;
    const std::int64_t i0 = facts_.cell_begin[index(row.cell)], i1 = facts_.cell_begin[index(row.cell + 1)];
    for (std::size_t c = 0; c < row.max.size(); ++c) {
        const auto pairs = static_cast<double>(legal_pairs(facts_, i0, i1, begin[c], begin[c + 1]));
        const std::size_t at = index(row.cell * pooled_.cols) + c;
        pooled_.max[at] = row.max[c];
        pooled_.mean[at] = pairs > 0 ? static_cast<float>(row.sum[c] / pairs) : 0.0F;
    }
}

void HeadAccumulator::finish() {
    std::sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) { return a.first < b.first; });
    RowSums sums(first_row_.size());
    CellRow open{-1, {}, {}};
    for (const Block& block : blocks_) {
        if (facts_.numbers) facts_.numbers->merge(sums, block.sums);
        for (const CellRow& edge : block.edges) {
            if (edge.cell != open.cell) {
                if (open.cell >= 0) write_cells(open);
                open = edge;
                continue;
            }
            open.max.resize(std::max(open.max.size(), edge.max.size()), 0.0F);
            open.sum.resize(open.max.size(), 0.0);
            for (std::size_t c = 0; c < edge.max.size(); ++c) {
                open.max[c] = std::max(open.max[c], edge.max[c]);
                open.sum[c] += edge.sum[c];
            }
        }
    }
    if (open.cell >= 0) write_cells(open);
    blocks_ = {};

    if (!facts_.numbers) return;
    const double mean_length = value_norms_.empty() ? kNaN : value_norm_sum_ / static_cast<double>(facts_.shape.counted_keys());
    numbers_.usual = facts_.numbers->finish(sums, mean_length, false);
    numbers_.rows = facts_.numbers->counted(sums);
    facts_.numbers->merge(sums, first_row_);
    numbers_.with_first_row = facts_.numbers->finish(sums, mean_length, true);
    value_norms_ = {};
}

}  // namespace headlight::trace
