// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/head_kernels.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace headlight::trace {
namespace {

/// Pairs (i, j) of [i0, i1) x [j0, j1) that the model may use.
std::int64_t legal_pairs(const TextFacts& facts, std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
    if (facts.window <= 0 && (!facts.causal || j1 <= i0 + 1)) return (i1 - i0) * (j1 - j0);
    std::int64_t pairs = 0;
    for (std::int64_t i = i0; i < i1; ++i) {
        const model::KeyRange keys = facts.legal(i);
        pairs += std::max<std::int64_t>(0, std::min(keys.last, j1) - std::max(keys.first, j0));
    }
    return pairs;
}

constexpr std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<std::int64_t> positions_of(const std::vector<bool>& flags) {
    std::vector<std::int64_t> positions;
    for (std::size_t i = 0; i < flags.size(); ++i)
        if (flags[i]) positions.push_back(static_cast<std::int64_t>(i));
    return positions;
}

std::vector<std::int64_t> cells_of(std::int64_t positions) {
    const std::int64_t cells = std::min(positions, kPooledCells);
    std::vector<std::int64_t> begin;
    for (std::int64_t c = 0; c <= cells; ++c) begin.push_back(c * positions / std::max<std::int64_t>(cells, 1));
    return begin;
}

/// What compares the position or the token that looks with the one that is looked at means nothing across two texts.
constexpr double HeadSummary::*kOfOneText[] = {
    &HeadSummary::mean_distance,    &HeadSummary::share_self,      &HeadSummary::share_previous, &HeadSummary::share_next,
    &HeadSummary::share_same_token, &HeadSummary::argmax_self,     &HeadSummary::vw_share_self,  &HeadSummary::induction,
    &HeadSummary::previous_token,   &HeadSummary::duplicate_token, &HeadSummary::share_cls,      &HeadSummary::share_sep,
    &HeadSummary::sep_to_sep,       &HeadSummary::other_to_sep,    &HeadSummary::entropy_cls};

/// Numbers that are sums over rows, and become means over all of them.
constexpr double HeadSummary::*kAdded[] = {&HeadSummary::entropy,
                                           &HeadSummary::entropy_smoothed,
                                           &HeadSummary::mean_distance,
                                           &HeadSummary::share_self,
                                           &HeadSummary::share_previous,
                                           &HeadSummary::share_next,
                                           &HeadSummary::share_first,
                                           &HeadSummary::share_special,
                                           &HeadSummary::share_punctuation,
                                           &HeadSummary::share_same_token,
                                           &HeadSummary::share_any_punctuation,
                                           &HeadSummary::argmax_self,
                                           &HeadSummary::argmax_first,
                                           &HeadSummary::share_sep};
/// And those that are means over some of them.
constexpr double HeadSummary::*kAddedForSome[] = {
    &HeadSummary::previous_token,   &HeadSummary::top1_minus_top2,     &HeadSummary::induction,
    &HeadSummary::duplicate_token,  &HeadSummary::vw_share_first,      &HeadSummary::vw_share_self,
    &HeadSummary::vw_share_special, &HeadSummary::weighted_value_norm, &HeadSummary::sep_to_sep};

}  // namespace

TextFacts TextFacts::of(const std::vector<std::int64_t>& ids, const std::vector<bool>& special_flags, bool is_causal,
                        const text::Punctuation& punctuation, std::int64_t limit) {
    TextFacts facts;
    facts.tokens = facts.keys = static_cast<std::int64_t>(ids.size());
    facts.causal = is_causal;
    facts.window = limit;
    facts.previous_same.reserve(ids.size());
    std::unordered_map<std::int64_t, std::int64_t> last;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto position = static_cast<std::int64_t>(i);
        const auto [entry, first_time] = last.try_emplace(ids[i], position);
        facts.previous_same.push_back(first_time ? -1 : entry->second);
        entry->second = position;
    }
    facts.special = positions_of(special_flags);
    facts.starts_special = !facts.special.empty() && facts.special.front() == 0;
    facts.separators.assign(facts.special.begin() + (facts.starts_special ? 1 : 0), facts.special.end());
    facts.is_separator.assign(ids.size(), false);
    for (const std::int64_t i : facts.separators) facts.is_separator[index(i)] = true;
    facts.period_or_comma = positions_of(punctuation.period_or_comma);
    facts.any_punctuation = positions_of(punctuation.any);
    const auto n = static_cast<double>(ids.size());
    double logs = 0;
    for (std::int64_t i = 0; i < facts.tokens; ++i) logs += std::log(static_cast<double>(facts.legal(i).count()));
    facts.uniform_with_first = logs / n;
    facts.uniform = !is_causal ? logs / n : ids.size() > 1 ? logs / (n - 1) : kNaN;
    facts.cell_begin = facts.column_begin = cells_of(facts.tokens);
    return facts;
}

TextFacts TextFacts::across_texts(std::int64_t queries, const text::Encoding& keys, const text::Punctuation& punctuation) {
    TextFacts facts;
    facts.tokens = queries;
    facts.keys = keys.size();
    facts.across = true;
    facts.causal = false;
    facts.special = positions_of(keys.special);
    facts.period_or_comma = positions_of(punctuation.period_or_comma);
    facts.any_punctuation = positions_of(punctuation.any);
    facts.uniform = facts.uniform_with_first = std::log(static_cast<double>(facts.keys));
    facts.cell_begin = cells_of(facts.tokens);
    facts.column_begin = cells_of(facts.keys);
    return facts;
}

HeadAccumulator::HeadAccumulator(const TextFacts& facts, PooledPattern& pooled, HeadSummaries& summaries)
    : facts_(facts), pooled_(pooled), summaries_(summaries) {
    pooled_.rows = std::min(facts.tokens, kPooledCells);
    pooled_.cols = std::min(facts.keys, kPooledCells);
    const auto cells = static_cast<std::size_t>(pooled_.rows * pooled_.cols);
    pooled_.max.assign(cells, 0.0F);
    pooled_.mean.assign(cells, 0.0F);
}

void HeadAccumulator::set_value_norms(std::vector<float> norms) {
    value_norm_sum_ = 0;
    for (const float x : norms) value_norm_sum_ += static_cast<double>(x);
    norms.resize(index(facts_.keys + kRowLanes), 0.0F);
    value_norms_ = std::move(norms);
}

void HeadAccumulator::add_rows(const float* rows, std::int64_t first, std::int64_t count, std::int64_t keys,
                               std::int64_t stride) {
    thread_local std::vector<float> column_max, column_sum;
    column_max.assign(index(keys + kRowLanes), 0.0F);
    column_sum.assign(index(keys + kRowLanes), 0.0F);
    const RowColumns columns{column_max.data(), column_sum.data()};
    Block block;
    block.first = first;
    const std::vector<std::int64_t>& begin = facts_.cell_begin;
    std::int64_t cell = std::upper_bound(begin.begin(), begin.end(), first) - begin.begin() - 1;
    for (std::int64_t i = first; i < first + count; ++cell) {
        const std::int64_t start = i, end = std::min(begin[index(cell + 1)], first + count);
        for (; i < end; ++i) {
            model::KeyRange legal = facts_.legal(i);
            legal.last = std::min(legal.last, keys);
            const std::int64_t readable = i + 1 < first + count ? std::max(keys, stride) : keys;
            const float* row = rows + (i - first) * stride;
            facts_.across ? add_row_across(row, readable, columns, block) : add_row(row, i, legal, readable, columns, block);
        }
        const std::int64_t reached = facts_.causal ? std::min(keys, end) : keys;
        add_column_sums(column_sum.data(), reached, block.sums);
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

void HeadAccumulator::Sums::add(const Sums& other) {
    for (const auto member : kAdded) of.*member += other.of.*member;
    for (const auto member : kAddedForSome) of.*member += other.of.*member;
    of.max_weight = std::max(of.max_weight, other.of.max_weight);
    rows += other.rows;
    with_previous += other.with_previous;
    with_two += other.with_two;
    repeats += other.repeats;
    weighted += other.weighted;
    separator_rows += other.separator_rows;
    entropy_cls += other.entropy_cls;
}

void HeadAccumulator::add_row(const float* row, std::int64_t i, model::KeyRange legal, std::int64_t readable,
                              const RowColumns& columns, Block& block) {
    thread_local std::vector<float> zeros;
    if (value_norms_.empty() && zeros.size() < index(facts_.tokens + kRowLanes))
        zeros.assign(index(facts_.tokens + kRowLanes), 0.0F);
    const float* factor = value_norms_.empty() ? zeros.data() : value_norms_.data();
    const std::int64_t keys = legal.last, start = legal.first;
    const auto floor = static_cast<float>(0.0001 / static_cast<double>(legal.count()));
    RowNumbers numbers, later;  // keys up to i, and behind it
    row_pass({row + start, i + 1 - start, readable - start, factor + start, floor}, {columns.max + start, columns.sum + start},
             numbers);
    numbers.index += static_cast<double>(start) * numbers.sum;
    if (keys > i + 1) {
        row_pass({row + i + 1, keys - i - 1, readable - i - 1, factor + i + 1, floor}, {columns.max + i + 1, columns.sum + i + 1},
                 later);
    }
    // Row 0 of a causal model can only look at itself: kept apart.
    Sums& sums = facts_.causal && i == 0 ? first_row_ : block.sums;
    HeadSummary& of = sums.of;
    ++sums.rows;
    of.entropy -= numbers.plogp + later.plogp;
    const double smoothed = -(numbers.smoothed + later.smoothed);
    of.entropy_smoothed += smoothed;
    if (i == 0) sums.entropy_cls = smoothed;
    of.mean_distance += static_cast<double>(i) * numbers.sum - numbers.index + later.index + later.sum;
    const float largest = std::max(numbers.largest, later.largest);
    const float second = std::max({std::min(numbers.largest, later.largest), numbers.second, later.second});
    if (legal.count() > 1) {
        ++sums.with_two;
        of.top1_minus_top2 += static_cast<double>(largest) - static_cast<double>(second);
    }
    // Equal weights: the first key counts as the largest.
    if (row[0] == largest) of.argmax_first += 1;
    if (row[i] == largest && std::find(row, row + i, largest) == row + i) of.argmax_self += 1;
    if (i > 0) of.max_weight = std::max(of.max_weight, static_cast<double>(largest));
    add_shares(row, i, keys, numbers.scaled + later.scaled, sums);
    add_repeats(row, i, sums);
    if (&sums == &first_row_) {
        // The column sums of its block have it too: it moves over.
        for (const auto& [flags, member] : {std::pair(&facts_.period_or_comma, &HeadSummary::share_punctuation),
                                            std::pair(&facts_.any_punctuation, &HeadSummary::share_any_punctuation)}) {
            if (flags->empty() || flags->front() != 0) continue;
            of.*member += static_cast<double>(row[0]);
            block.sums.of.*member -= static_cast<double>(row[0]);
        }
    }
}

/// The numbers that two texts have. A text without values has no lengths: zeros stand for them.
void HeadAccumulator::add_row_across(const float* row, std::int64_t readable, const RowColumns& columns, Block& block) {
    thread_local std::vector<float> zeros;
    const std::int64_t keys = facts_.keys;
    if (value_norms_.empty() && zeros.size() < index(keys + kRowLanes)) zeros.assign(index(keys + kRowLanes), 0.0F);
    const float* factor = value_norms_.empty() ? zeros.data() : value_norms_.data();
    RowNumbers numbers;
    row_pass({row, keys, readable, factor, static_cast<float>(0.0001 / static_cast<double>(keys))}, columns, numbers);
    Sums& sums = block.sums;
    HeadSummary& of = sums.of;
    ++sums.rows;
    of.entropy -= numbers.plogp;
    of.entropy_smoothed -= numbers.smoothed;
    if (keys > 1) {
        ++sums.with_two;
        of.top1_minus_top2 += static_cast<double>(numbers.largest) - static_cast<double>(numbers.second);
    }
    if (row[0] == numbers.largest) of.argmax_first += 1;
    of.max_weight = std::max(of.max_weight, static_cast<double>(numbers.largest));
    of.share_first += static_cast<double>(row[0]);
    double special = 0, scaled_special = 0;
    for (const std::int64_t j : facts_.special) {
        special += static_cast<double>(row[j]);
        scaled_special += static_cast<double>(row[j]) * static_cast<double>(factor[j]);
    }
    of.share_special += special;
    of.weighted_value_norm += numbers.scaled;
    if (numbers.scaled <= 0) return;
    ++sums.weighted;
    of.vw_share_first += static_cast<double>(row[0]) * static_cast<double>(factor[0]) / numbers.scaled;
    of.vw_share_special += scaled_special / numbers.scaled;
}

void HeadAccumulator::add_shares(const float* row, std::int64_t i, std::int64_t keys, double scaled_sum, Sums& sums) const {
    const auto at = [row](std::int64_t j) { return static_cast<double>(row[j]); };
    HeadSummary& of = sums.of;
    of.share_self += at(i);
    if (i > 0) {
        of.share_previous += at(i - 1);
        of.previous_token += at(i - 1);
        ++sums.with_previous;
    }
    if (i + 1 < keys) of.share_next += at(i + 1);
    of.share_first += at(0);
    double special = 0, scaled_special = 0;
    for (const std::int64_t j : facts_.special) {
        if (j >= keys) break;
        special += at(j);
        if (!value_norms_.empty()) scaled_special += at(j) * static_cast<double>(value_norms_[index(j)]);
    }
    of.share_special += special;
    if (!facts_.separators.empty()) {
        const double separators = special - (facts_.starts_special ? at(0) : 0.0);
        of.share_sep += separators;
        if (facts_.is_separator[index(i)]) {
            of.sep_to_sep += separators;
            ++sums.separator_rows;
        }
    }
    of.weighted_value_norm += scaled_sum;
    if (scaled_sum <= 0) return;
    ++sums.weighted;
    of.vw_share_first += at(0) * static_cast<double>(value_norms_[0]) / scaled_sum;
    of.vw_share_self += at(i) * static_cast<double>(value_norms_[index(i)]) / scaled_sum;
    of.vw_share_special += scaled_special / scaled_sum;
}

void HeadAccumulator::add_repeats(const float* row, std::int64_t i, Sums& sums) const {
    std::int64_t j = facts_.previous_same[index(i)];
    if (j < 0) return;
    ++sums.repeats;
    double copies = 0, behind = 0;
    for (; j >= 0; j = facts_.previous_same[index(j)]) {
        copies += static_cast<double>(row[j]);
        behind += static_cast<double>(row[j + 1]);
    }
    sums.of.duplicate_token += copies;
    sums.of.share_same_token += copies;
    sums.of.induction += behind;
}

/// Shares on a set of keys, from what the rows of a cell added to the columns.
void HeadAccumulator::add_column_sums(const float* column_sum, std::int64_t reached, Sums& sums) const {
    const auto add = [&](const std::vector<std::int64_t>& keys, double& share) {
        for (const std::int64_t j : keys) {
            if (j >= reached) break;
            share += static_cast<double>(column_sum[j]);
        }
    };
    add(facts_.period_or_comma, sums.of.share_punctuation);
    add(facts_.any_punctuation, sums.of.share_any_punctuation);
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
    Sums sums;
    CellRow open{-1, {}, {}};
    for (const Block& block : blocks_) {
        sums.add(block.sums);
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

    summaries_.usual = means(sums, facts_.uniform);
    sums.add(first_row_);
    summaries_.with_first_row = means(sums, facts_.uniform_with_first);
    value_norms_ = {};
}

HeadSummary HeadAccumulator::means(const Sums& sums, double uniform) const {
    const auto mean = [](double sum, std::int64_t count) { return count > 0 ? sum / static_cast<double>(count) : kNaN; };
    HeadSummary out;
    for (const auto member : kAdded) out.*member = mean(sums.of.*member, sums.rows);
    const auto over = [&](double HeadSummary::*member, std::int64_t count) { out.*member = mean(sums.of.*member, count); };
    over(&HeadSummary::previous_token, sums.with_previous);
    over(&HeadSummary::top1_minus_top2, sums.with_two);
    over(&HeadSummary::induction, sums.repeats);
    over(&HeadSummary::duplicate_token, sums.repeats);
    over(&HeadSummary::vw_share_first, sums.weighted);
    over(&HeadSummary::vw_share_self, sums.weighted);
    over(&HeadSummary::vw_share_special, sums.weighted);
    over(&HeadSummary::weighted_value_norm, value_norms_.empty() ? 0 : sums.rows);
    out.value_norm = mean(value_norm_sum_, value_norms_.empty() ? 0 : facts_.keys);
    out.entropy_uniform = sums.rows > 0 ? uniform : kNaN;
    out.max_weight = facts_.keys > 1 ? sums.of.max_weight : kNaN;
    if (facts_.tokens < 2) out.share_previous = out.share_next = kNaN;

    // Clark's figures are about models that look both ways and frame a text with [CLS] and [SEP].
    const bool separated = !facts_.causal && !facts_.separators.empty();
    out.share_cls = !facts_.causal && facts_.starts_special ? out.share_first : kNaN;
    out.entropy_cls = !facts_.causal && facts_.starts_special ? sums.entropy_cls : kNaN;
    out.share_sep = separated ? out.share_sep : kNaN;
    out.sep_to_sep = separated ? mean(sums.of.sep_to_sep, sums.separator_rows) : kNaN;
    out.other_to_sep = separated ? mean(sums.of.share_sep - sums.of.sep_to_sep, sums.rows - sums.separator_rows) : kNaN;
    if (facts_.across)
        for (const auto member : kOfOneText) out.*member = kNaN;
    return out;
}

}  // namespace headlight::trace
