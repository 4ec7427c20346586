// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/head_kernels.h"

#include "headlight/base/error.h"
#include "headlight/base/flush_denormals.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace headlight::trace {
namespace {

/// Pairs (i, j) of [i0, i1) x [j0, j1) that the model may use.
std::int64_t legal_pairs(const PatternFacts& facts, std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
    if (facts.shape.window == 0 && (!facts.shape.causal || j1 <= i0 + 1)) return (i1 - i0) * (j1 - j0);
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

/// Rows that are added together, at most.
constexpr std::int64_t kTogether = 16;
/// As many as stay in the core's second cache until all that is gathered has read them.
std::int64_t rows_together(std::int64_t keys) {
    constexpr std::int64_t kFloats = 128 * 1024;
    return std::clamp<std::int64_t>(kFloats / std::max<std::int64_t>(keys, 1), 4, kTogether);
}

std::atomic<MakeHeadNumbers> g_make_numbers = nullptr;

}  // namespace

bool gather_head_numbers(MakeHeadNumbers make) noexcept {
    g_make_numbers = make;
    return true;
}

MakeHeadNumbers gathered_head_numbers() noexcept { return g_make_numbers; }

PatternFacts::PatternFacts(const PatternShape& of, const text::Tokenizer& tokenizer, const text::Encoding& columns,
                           const HeadOverview& gathered)
    : PatternFacts(of, gathered.numbers && gathered_head_numbers() ? gathered_head_numbers()(of, tokenizer, columns) : nullptr) {
    pooled = gathered.pooled;
}

PatternFacts::PatternFacts(const PatternShape& of, std::unique_ptr<const HeadNumbers> gathered)
    : shape(of), cell_begin(cells_of(of.queries)), column_begin(cells_of(of.keys)), numbers(std::move(gathered)) {
    if (numbers && !shape.across) distances = numbers->distances();
}

HeadAccumulator::HeadAccumulator(const PatternFacts& facts, PooledPattern& pooled, GatheredNumbers& numbers)
    : facts_(facts), pooled_(pooled), numbers_(numbers), first_row_(facts.numbers ? facts.numbers->size() : 0) {
    if (!facts.pooled) return;
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
    thread_local Sums sums;
    sums.column_sum.assign(index(keys + kRowLanes), 0.0F);
    sums.column_max.assign(facts_.pooled ? index(keys + kRowLanes) : 0, 0.0F);
    sums.diagonal.assign(facts_.distances.count() > 0 ? index(facts_.shape.queries) : 0, 0.0F);
    Block block{first, RowSums(first_row_.size()), {}};
    const std::int64_t behind = first + count, together = rows_together(keys);
    const std::vector<std::int64_t>& begin = facts_.cell_begin;
    for (std::int64_t i = first; i < behind;) {
        // Columns are summed over few rows in float32: those of a cell of the maps, else sixteen.
        const std::int64_t start = i, cell = std::upper_bound(begin.begin(), begin.end(), i) - begin.begin() - 1;
        const std::int64_t end = std::min(facts_.pooled ? begin[index(cell + 1)] : i + kTogether, behind);
        while (i < end) {
            const std::int64_t last = std::min(i + together, end);
            facts_.numbers ? add_rows_together(rows, i, last, sums, block) : add_to_columns(rows, i, last, sums);
            i = last;
        }
        const std::int64_t reached = facts_.shape.causal ? std::min(keys, end) : keys;
        if (facts_.numbers) facts_.numbers->add_columns(sums.column_sum.data(), reached, 1, block.sums);
        if (!sums.diagonal.empty()) {
            facts_.numbers->add_diagonals(sums.diagonal.data(), block.sums);
            std::ranges::fill(sums.diagonal, 0.0F);
        }
        if (facts_.pooled) {
            CellRow pooled = pool_columns(cell, reached, sums);
            const bool whole = start == begin[index(cell)] && end == begin[index(cell + 1)];
            if (whole)
                write_cells(pooled);
            else
                block.edges.push_back(std::move(pooled));
            std::fill_n(sums.column_max.begin(), reached, 0.0F);
        }
        std::fill_n(sums.column_sum.begin(), reached, 0.0F);
    }
    const std::lock_guard lock(mutex_);
    blocks_.push_back(std::move(block));
    rows_seen_ += count;
    if (rows_seen_ == facts_.shape.queries) finish();
}

void HeadAccumulator::add_to_columns(const Rows& rows, std::int64_t first, std::int64_t behind, Sums& sums) const {
    std::array<const float*, kTogether> each;
    std::int64_t start = rows.keys, end = 0;
    for (std::int64_t i = first; i < behind; ++i) {
        start = std::min(start, facts_.shape.legal(i).first);
        end = std::max(end, std::min(facts_.shape.legal(i).last, rows.keys));
    }
    for (std::int64_t i = first; i < behind; ++i) each[index(i - first)] = rows.weights + (i - rows.first) * rows.stride + start;
    float* const max = facts_.pooled ? sums.column_max.data() + start : nullptr;
    add_together(each.data(), behind - first, end - start, {max, sums.column_sum.data() + start});
}

/// One stretch of keys after another, of all these rows: what the columns have of a stretch stays in the core's first cache.
void HeadAccumulator::add_rows_together(const Rows& rows, std::int64_t first, std::int64_t behind, Sums& sums, Block& block) {
    constexpr std::int64_t kStretch = 512;  // whole chunks of row_pass()
    const PatternShape& shape = facts_.shape;
    thread_local std::vector<float> zeros;
    if (value_norms_.empty() && zeros.size() < index(shape.keys + kRowLanes)) zeros.assign(index(shape.keys + kRowLanes), 0.0F);
    const float* factor = value_norms_.empty() ? zeros.data() : value_norms_.data();
    struct Row {
        model::KeyRange legal;
        std::int64_t split = 0;  ///< the first key behind the query
        RowNumbers numbers;
        double sum = 0, index = 0;  ///< of the keys before it
    };
    std::array<Row, kTogether> each;
    std::int64_t start = rows.keys, end = 0;
    for (std::int64_t i = first; i < behind; ++i) {
        Row& row = each[index(i - first)];
        row.legal = shape.legal(i);
        row.legal.last = std::min(row.legal.last, rows.keys);
        row.split = shape.across ? row.legal.last : i + 1;
        start = std::min(start, row.legal.first);
        end = std::max(end, row.legal.last);
    }
    for (std::int64_t key = start / kStretch * kStretch; key < end; key += kStretch) {
        for (std::int64_t i = first; i < behind; ++i) {
            Row& row = each[index(i - first)];
            const float* const weights = rows.weights + (i - rows.first) * rows.stride;
            const std::int64_t readable = i + 1 < rows.first + rows.count ? std::max(rows.keys, rows.stride) : rows.keys;
            const auto floor = static_cast<float>(0.0001 / static_cast<double>(row.legal.count()));
            const auto pass = [&](std::int64_t from, std::int64_t to) {
                row_pass({weights + from, to - from, readable - from, from, factor + from, floor, rows.logs.empty()},
                         {facts_.pooled ? sums.column_max.data() + from : nullptr, sums.column_sum.data() + from}, row.numbers);
            };
            const std::int64_t from = std::max(row.legal.first, key), to = std::min(row.legal.last, key + kStretch);
            const std::int64_t middle = std::min(row.split, to);
            if (from < middle) {
                pass(from, middle);
                row.sum = row.numbers.sum;
                row.index = row.numbers.index;
            }
            if (std::max(from, middle) < to) pass(std::max(from, middle), to);
        }
    }
    if (!sums.diagonal.empty()) add_diagonals(rows, first, behind, sums.diagonal.data());
    for (std::int64_t i = first; i < behind; ++i) {
        const Row& row = each[index(i - first)];
        const RowNumbers& all = row.numbers;
        const auto query = static_cast<double>(i);
        const double before = query * row.sum - row.index, after = all.index - row.index - query * (all.sum - row.sum);
        add_numbers(rows, i, row.legal, all, shape.across ? 0 : before + after, block);
    }
}

void HeadAccumulator::add_numbers(const Rows& rows, std::int64_t i, const model::KeyRange& legal, const RowNumbers& numbers,
                                  double distance, Block& block) {
    const PatternShape& shape = facts_.shape;
    const model::RowLogs* const logs = rows.logs.empty() ? nullptr : &rows.logs[index(i - rows.first)];
    const auto [largest, second] = numbers.two_largest();
    const PatternRow result{.shape = shape,
                            .weights = rows.weights + (i - rows.first) * rows.stride,
                            .lengths = value_norms_.empty() ? nullptr : value_norms_.data(),
                            .query = i,
                            .legal = legal,
                            .entropy = -(logs ? logs->weighted + logs->factor * numbers.sum : numbers.plogp),
                            .smoothed_entropy = -numbers.smoothed,
                            .distance = distance,
                            .weighted_length = numbers.scaled,
                            .largest = largest,
                            .second = second};
    if (i < shape.first_counted) {  // the column sums of its block have it
        facts_.numbers->add_columns(result.weights, legal.last, -1, block.sums);
        return;
    }
    if (!shape.causal || i > 0) {
        facts_.numbers->add_row(result, block.sums);
        return;
    }
    // Row 0 of a causal model can only attend to itself: kept apart. The column sums of its block have it too: it moves over.
    facts_.numbers->add_row(result, first_row_);
    facts_.numbers->add_columns(result.weights, 1, 1, first_row_);
    facts_.numbers->add_columns(result.weights, 1, -1, block.sums);
}

/// Of the rows that count, row 0 of a causal model left out.
void HeadAccumulator::add_diagonals(const Rows& rows, std::int64_t first, std::int64_t behind, float* diagonal) const {
    const PatternShape& shape = facts_.shape;
    const std::int64_t last = shape.queries - 1, end = shape.queries - facts_.distances.first;  // behind the least distance
    struct Row {
        const float* weights;
        std::int64_t shift, begin;  ///< of its diagonals: key 0, and the farthest that is wanted
    };
    std::array<Row, kTogether> each;
    std::int64_t count = 0, common = 0;
    for (std::int64_t i = std::max({first, shape.first_counted, std::int64_t{shape.causal}}); i < behind; ++i) {
        const std::int64_t begin = last - std::min(i - shape.legal(i).first, facts_.distances.last - 1);
        if (begin >= end) continue;
        each[index(count++)] = {rows.weights + (i - rows.first) * rows.stride, last - i, begin};
        common = std::max(common, begin);
    }
    std::array<const float*, kTogether> from;
    for (std::int64_t r = 0; r < count; ++r) {
        const Row& row = each[index(r)];
        for (std::int64_t x = row.begin; x < common; ++x) diagonal[x] += row.weights[x - row.shift];
        from[index(r)] = row.weights + common - row.shift;
    }
    add_together(from.data(), count, end - common, {nullptr, diagonal + common});
}

HeadAccumulator::CellRow HeadAccumulator::pool_columns(std::int64_t cell, std::int64_t reached, const Sums& sums) const {
    CellRow result;
    result.cell = cell;
    const std::vector<std::int64_t>& begin = facts_.column_begin;
    result.max.reserve(index(pooled_.cols));
    result.sum.reserve(index(pooled_.cols));
    for (std::int64_t c = 0, j = 0; c < pooled_.cols && j < reached; ++c) {
        const std::int64_t end = std::min(begin[index(c + 1)], reached);
        const Pooled pooled = pool(sums.column_max.data() + j, sums.column_sum.data() + j, end - j);
        result.max.push_back(pooled.max);
        result.sum.push_back(pooled.sum);
        j = end;
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
