// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/head_kernels.h"

#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

// One object file serves every x86-64: the wide version is picked when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define HEADLIGHT_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HEADLIGHT_WIDE
#endif

namespace headlight::trace {
namespace {

constexpr int kLanes = 16;
constexpr std::int64_t kChunk = 256;  ///< floats are summed over one chunk at most, chunks in float64
using Floats [[gnu::vector_size(kLanes * sizeof(float)), gnu::aligned(4), gnu::may_alias]] = float;
using Ints [[gnu::vector_size(kLanes * sizeof(float))]] = std::int32_t;

struct RowNumbers {
    double sum = 0;    ///< sum p
    double index = 0;  ///< sum p j
    double plogp = 0;  ///< sum p ln p
    float largest = 0, second = 0;
};

/// ln x for x in (FLT_MIN, 2): exponent plus 2 artanh((m - 1) / (m + 1)) with m in [sqrt(1/2), sqrt(2)); error below
/// 1e-7.
[[gnu::always_inline]] inline void natural_log(const Floats& x, Floats& out) {
    Ints bits;
    std::memcpy(&bits, &x, sizeof bits);
    const Ints shifted = bits - 0x3f3504f3;  // bits of sqrt(1/2): puts the mantissa around 1
    const Ints exponent = shifted >> 23;
    const Ints mantissa_bits = (shifted & 0x007fffff) + 0x3f3504f3;
    Floats mantissa;
    std::memcpy(&mantissa, &mantissa_bits, sizeof mantissa);
    const Floats s = (mantissa - 1.0F) / (mantissa + 1.0F);
    const Floats s2 = s * s;
    const Floats series = 2.0F + s2 * (2.0F / 3 + s2 * (2.0F / 5 + s2 * (2.0F / 7 + s2 * (2.0F / 9))));
    out = __builtin_convertvector(exponent, Floats) * 0.69314718056F + s * series;
}

double lanes_sum(const Floats& v) {
    double sum = 0;
    for (int k = 0; k < kLanes; ++k) sum += static_cast<double>(v[k]);
    return sum;
}

/// One row of n weights: its numbers, and its share in the column maxima and sums.
/// `readable` floats may be read from row; the columns have room for whole vectors.
HEADLIGHT_WIDE void row_pass(const float* row, std::int64_t n, std::int64_t readable, float* column_max,
                             float* column_sum, RowNumbers& out) {
    const Floats zero = {};
    const Floats tiny = zero + std::numeric_limits<float>::min();
    Floats lane_index = {};
    for (int k = 0; k < kLanes; ++k) lane_index[k] = static_cast<float>(k);
    Floats largest = zero, second = zero;
    for (std::int64_t start = 0; start < n; start += kChunk) {
        const std::int64_t end = std::min(n, start + kChunk);
        Floats sum = zero, index = zero, plogp = zero, j = lane_index;
        for (std::int64_t at = start; at < end; at += kLanes, j += static_cast<float>(kLanes)) {
            Floats p = zero, cmax, csum, logp;
            if (at + kLanes <= readable)
                std::memcpy(&p, row + at, sizeof p);
            else
                std::memcpy(&p, row + at, static_cast<std::size_t>(readable - at) * sizeof(float));
            if (at + kLanes > n) p = j < static_cast<float>(n - start) ? p : zero;
            std::memcpy(&cmax, column_max + at, sizeof cmax);
            std::memcpy(&csum, column_sum + at, sizeof csum);
            cmax = p > cmax ? p : cmax;
            csum += p;
            natural_log(p > tiny ? p : tiny, logp);
            sum += p;
            index += p * j;
            plogp += p * logp;  // below FLT_MIN the product is under 1e-36 either way
            const Floats lower = p < largest ? p : largest;
            largest = p > largest ? p : largest;
            second = lower > second ? lower : second;
            std::memcpy(column_max + at, &cmax, sizeof cmax);
            std::memcpy(column_sum + at, &csum, sizeof csum);
        }
        const double chunk_sum = lanes_sum(sum);
        out.sum += chunk_sum;
        out.index += lanes_sum(index) + static_cast<double>(start) * chunk_sum;
        out.plogp += lanes_sum(plogp);
    }
    for (int k = 0; k < kLanes; ++k) {
        const float a = largest[k], b = second[k];
        out.second = std::max(out.second, a > out.largest ? std::max(out.largest, b) : a);
        out.largest = std::max(out.largest, a);
    }
}

/// Pairs (i, j) of [i0, i1) x [j0, j1) that the model may use.
std::int64_t legal_pairs(std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1, bool causal) {
    if (!causal || j1 <= i0 + 1) return (i1 - i0) * (j1 - j0);
    std::int64_t pairs = 0;
    for (std::int64_t i = i0; i < i1; ++i) pairs += std::clamp<std::int64_t>(i + 1 - j0, 0, j1 - j0);
    return pairs;
}

constexpr std::size_t index(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

}  // namespace

TextFacts TextFacts::of(const std::vector<std::int64_t>& ids, const std::vector<bool>& special_flags, bool is_causal) {
    TextFacts facts;
    facts.tokens = static_cast<std::int64_t>(ids.size());
    facts.causal = is_causal;
    facts.previous_same.reserve(ids.size());
    std::unordered_map<std::int64_t, std::int64_t> last;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto position = static_cast<std::int64_t>(i);
        const auto [entry, first_time] = last.try_emplace(ids[i], position);
        facts.previous_same.push_back(first_time ? -1 : entry->second);
        entry->second = position;
        if (i < special_flags.size() && special_flags[i]) facts.special.push_back(position);
    }
    const std::int64_t cells = std::min(facts.tokens, kPooledCells);
    for (std::int64_t c = 0; c <= cells; ++c)
        facts.cell_begin.push_back(c * facts.tokens / std::max<std::int64_t>(cells, 1));
    return facts;
}

HeadAccumulator::HeadAccumulator(const TextFacts& facts, PooledPattern& pooled, HeadSummary& summary)
    : facts_(facts), pooled_(pooled), summary_(summary) {
    pooled_.rows = pooled_.cols = std::min(facts.tokens, kPooledCells);
    const auto cells = static_cast<std::size_t>(pooled_.rows * pooled_.cols);
    pooled_.max.assign(cells, 0.0F);
    pooled_.mean.assign(cells, 0.0F);
}

void HeadAccumulator::add_rows(const float* rows, std::int64_t first, std::int64_t count, std::int64_t keys,
                               std::int64_t stride) {
    thread_local std::vector<float> column_max, column_sum;
    column_max.assign(index(keys + kLanes), 0.0F);
    column_sum.assign(index(keys + kLanes), 0.0F);
    Block block;
    block.first = first;
    const std::vector<std::int64_t>& begin = facts_.cell_begin;
    std::int64_t cell = std::upper_bound(begin.begin(), begin.end(), first) - begin.begin() - 1;
    for (std::int64_t i = first; i < first + count; ++cell) {
        const std::int64_t start = i, end = std::min(begin[index(cell + 1)], first + count);
        for (; i < end; ++i) {
            const std::int64_t legal = facts_.causal ? std::min(keys, i + 1) : keys;
            const std::int64_t readable = i + 1 < first + count ? std::max(keys, stride) : keys;
            add_row(rows + (i - first) * stride, i, legal, readable, column_max.data(), column_sum.data(), block);
        }
        const std::int64_t reached = facts_.causal ? std::min(keys, end) : keys;
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
    if (rows_seen_ == facts_.tokens) finish();
}

void HeadAccumulator::add_row(const float* row, std::int64_t i, std::int64_t keys, std::int64_t readable,
                              float* column_max, float* column_sum, Block& block) const {
    RowNumbers numbers, later;  // keys up to i, and behind it
    row_pass(row, i + 1, readable, column_max, column_sum, numbers);
    if (keys > i + 1) {
        row_pass(row + i + 1, keys - i - 1, readable - i - 1, column_max + i + 1, column_sum + i + 1, later);
    }
    if (facts_.causal && i == 0) return;  // it can only look at itself
    const auto at = [row](std::int64_t j) { return static_cast<double>(row[j]); };
    HeadSummary& sums = block.sums;
    ++block.rows;
    sums.entropy -= numbers.plogp + later.plogp;
    sums.mean_distance += static_cast<double>(i) * numbers.sum - numbers.index + later.index + later.sum;
    const float largest = std::max(numbers.largest, later.largest);
    const float second = std::max({std::min(numbers.largest, later.largest), numbers.second, later.second});
    sums.share_self += at(i);
    if (i > 0) sums.share_previous += at(i - 1);
    if (i + 1 < keys) sums.share_next += at(i + 1);
    sums.share_first += at(0);
    for (const std::int64_t j : facts_.special) {
        if (j >= keys) break;
        sums.share_special += at(j);
    }
    if (keys > 1) {
        ++block.rows_with_two;
        sums.top1_minus_top2 += static_cast<double>(largest) - static_cast<double>(second);
    }
    // Equal weights: the first key counts as the largest.
    if (row[0] == largest) sums.argmax_first += 1;
    if (row[i] == largest && std::find(row, row + i, largest) == row + i) sums.argmax_self += 1;
    if (i > 0) sums.max_weight = std::max(sums.max_weight, static_cast<double>(largest));
    std::int64_t j = facts_.previous_same[index(i)];
    if (j < 0) return;
    ++block.repeats;
    for (; j >= 0; j = facts_.previous_same[index(j)]) {
        sums.duplicate_token += at(j);
        sums.induction += at(j + 1);
    }
}

HeadAccumulator::CellRow HeadAccumulator::pool_columns(std::int64_t cell, std::int64_t reached, const float* column_max,
                                                       const float* column_sum) const {
    CellRow result;
    result.cell = cell;
    const std::vector<std::int64_t>& begin = facts_.cell_begin;
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
    const std::vector<std::int64_t>& begin = facts_.cell_begin;
    const std::int64_t i0 = begin[index(row.cell)], i1 = begin[index(row.cell + 1)];
    for (std::size_t c = 0; c < row.max.size(); ++c) {
        const auto pairs = static_cast<double>(legal_pairs(i0, i1, begin[c], begin[c + 1], facts_.causal));
        const std::size_t at = index(row.cell * pooled_.cols) + c;
        pooled_.max[at] = row.max[c];
        pooled_.mean[at] = static_cast<float>(row.sum[c] / pairs);
    }
}

void HeadAccumulator::finish() {
    std::sort(blocks_.begin(), blocks_.end(), [](const Block& a, const Block& b) { return a.first < b.first; });
    HeadSummary sums;
    std::int64_t rows = 0, rows_with_two = 0, repeats = 0;
    constexpr double HeadSummary::*kAdded[] = {
        &HeadSummary::entropy,        &HeadSummary::mean_distance,   &HeadSummary::share_self,
        &HeadSummary::share_previous, &HeadSummary::share_next,      &HeadSummary::share_first,
        &HeadSummary::share_special,  &HeadSummary::top1_minus_top2, &HeadSummary::argmax_self,
        &HeadSummary::argmax_first,   &HeadSummary::induction,       &HeadSummary::duplicate_token};
    CellRow open{-1, {}, {}};
    for (const Block& block : blocks_) {
        for (const auto member : kAdded) sums.*member += block.sums.*member;
        sums.max_weight = std::max(sums.max_weight, block.sums.max_weight);
        rows += block.rows;
        rows_with_two += block.rows_with_two;
        repeats += block.repeats;
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

    constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
    const auto mean = [](double sum, std::int64_t count) {
        return count > 0 ? sum / static_cast<double>(count) : undefined;
    };
    for (const auto member : kAdded) summary_.*member = mean(sums.*member, rows);
    summary_.max_weight = facts_.tokens > 1 ? sums.max_weight : undefined;
    summary_.top1_minus_top2 = mean(sums.top1_minus_top2, rows_with_two);
    summary_.induction = mean(sums.induction, repeats);
    summary_.duplicate_token = mean(sums.duplicate_token, repeats);
    if (facts_.tokens < 2) summary_.share_previous = summary_.share_next = undefined;
}

}  // namespace headlight::trace
