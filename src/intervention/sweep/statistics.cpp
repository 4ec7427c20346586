// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/statistics.h"

#include "headlight/corpus/statistics/least_texts.h"
#include "headlight/corpus/statistics/quantile.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headlight::intervention {
namespace {

using Columns = corpus::Bootstrap::Columns;

/// Cells whose draws are in memory at once.
constexpr std::size_t kCellsAtOnce = 512;

void set_mean(SweepResult& r, const std::vector<std::int64_t>& groups, std::size_t cell) {
    SweepCellResult& out = r.results[cell];
    for (const auto& [pairs, mean] : {std::pair{&r.estimates, &out.estimate}, std::pair{&r.directs, &out.direct}}) {
        std::int64_t count = 0;
        double sum = 0;
        for (const auto& pair : *pairs)
            if (!std::isnan(pair[cell])) sum += pair[cell], ++count;
        if (count > 0) *mean = sum / static_cast<double>(count);
    }
    double sum = 0, base = 0, gap = 0;
    std::vector<double> own;
    for (std::size_t n = 0; n < r.effects.size(); ++n) {
        const double effect = own.emplace_back(r.effects[n][cell]);
        if (std::isnan(effect)) continue;
        ++out.pairs;
        sum += effect;
        const bool from_clean = r.corrupt.empty() || r.options.direction == Direction::noise;
        base += from_clean ? r.clean[n] : r.corrupt[n];
        if (!r.corrupt.empty()) gap += (r.clean[n] - r.corrupt[n]) * (from_clean ? -1 : 1);
    }
    if (out.pairs == 0) return;
    const auto count = static_cast<double>(out.pairs);
    out.effect = sum / count;
    // A size without a sign leads to no value.
    const bool has_sign = r.options.method != Method::graddrop;
    if (has_sign) out.value = base / count + out.effect;
    if (has_sign && !r.corrupt.empty() && std::abs(gap / count) >= r.options.least_gap)
        out.normalized = sum / gap + 0.0;  // an effect of 0 over a negative gap is no -0
    out.agreeing = std::ranges::count_if(own, [&](double effect) { return effect * out.effect > 0; });
    out.stderr_ = standard_error(own, groups);
}

/// The band (simultaneous intervals): mean +- q standard errors, q the level's quantile over draws of the largest |draw's mean -
/// mean| / standard error of any cell. A cell with values of too few groups has neither, and does not widen those of others.
void set_intervals(SweepResult& r, const std::vector<std::int64_t>& groups) {
    const std::int64_t count = 1 + *std::ranges::max_element(groups);
    if (count < corpus::kLeastTexts) {
        r.notes.push_back((count < std::ssize(groups) ? "Groups of pairs: " : "Pairs: ") + std::to_string(count) +
                          ". Intervals need at least " + std::to_string(corpus::kLeastTexts));
        return;
    }
    const corpus::Bootstrap bootstrap(count, r.options.bootstrap);
    std::vector<double> largest(static_cast<std::size_t>(r.options.bootstrap.draws), 0);
    for (std::size_t first = 0; first < r.cells.size(); first += kCellsAtOnce) {
        const std::size_t some = std::min(kCellsAtOnce, r.cells.size() - first);
        Columns sums = Columns::Zero(count, static_cast<Eigen::Index>(some)), weights = sums;
        for (std::size_t n = 0; n < groups.size(); ++n)
            for (std::size_t i = 0; i < some; ++i)
                if (const double effect = r.effects[n][first + i]; !std::isnan(effect)) {
                    sums(groups[n], static_cast<Eigen::Index>(i)) += effect;
                    weights(groups[n], static_cast<Eigen::Index>(i)) += 1;
                }
        const std::vector<corpus::Interval> intervals = bootstrap.means(sums, weights);
        const Columns drawn = bootstrap.drawn_means(sums, weights);
        for (std::size_t i = 0; i < some; ++i) {
            SweepCellResult& cell = r.results[first + i];
            cell.low = intervals[i].low;
            cell.high = intervals[i].high;
            if (!(cell.stderr_ > 0) || std::isnan(cell.low)) continue;
            for (Eigen::Index d = 0; d < drawn.rows(); ++d)
                if (const double t = std::abs(drawn(d, static_cast<Eigen::Index>(i)) - cell.effect) / cell.stderr_;
                    !std::isnan(t))
                    largest[static_cast<std::size_t>(d)] = std::max(largest[static_cast<std::size_t>(d)], t);
        }
    }
    std::ranges::sort(largest);
    const double q = corpus::quantile(largest, r.options.bootstrap.level);
    for (SweepCellResult& cell : r.results) {
        if (std::isnan(cell.stderr_) || std::isnan(cell.low)) continue;
        cell.band_low = cell.effect - q * cell.stderr_;
        cell.band_high = cell.effect + q * cell.stderr_;
    }
}

}  // namespace

std::vector<std::int64_t> groups_of(const std::vector<SweepPair>& pairs) {
    std::map<std::string, std::int64_t> known;
    std::vector<std::int64_t> groups;
    std::int64_t count = 0;
    for (const SweepPair& pair : pairs) {
        if (pair.group.empty())
            groups.push_back(count++);
        else if (const auto [at, is_new] = known.emplace(pair.group, count); is_new)
            groups.push_back(count++);
        else
            groups.push_back(at->second);
    }
    return groups;
}

double standard_error(std::span<const double> values, const std::vector<std::int64_t>& groups) {
    double sum = 0, count = 0;
    for (const double value : values)
        if (!std::isnan(value)) sum += value, ++count;
    std::map<std::int64_t, double> deviations;
    for (std::size_t n = 0; n < values.size(); ++n)
        if (!std::isnan(values[n])) deviations[groups[n]] += values[n] - sum / count;
    if (deviations.size() < 2) return kNaN;
    double square = 0;
    for (const auto& [group, deviation] : deviations) square += deviation * deviation;
    const auto clusters = static_cast<double>(deviations.size());
    return std::sqrt(clusters / (clusters - 1) * square) / count;
}

void summarise(SweepResult& r, const std::vector<SweepPair>& pairs) {
    const std::vector<std::int64_t> groups = groups_of(pairs);
    for (std::size_t cell = 0; cell < r.cells.size(); ++cell) set_mean(r, groups, cell);
    if (pairs.size() > 1 && r.complete) set_intervals(r, groups);
}

}  // namespace headlight::intervention
