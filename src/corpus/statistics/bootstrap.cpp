// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/statistics/bootstrap.h"

#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/statistics/least_texts.h"
#include "headlight/corpus/statistics/quantile.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace headlight::corpus {
namespace {

constexpr std::int64_t kDrawsAtATime = 32;  // fixed, so that a product has the same bits on any number of threads

Bootstrap::Columns ratio(const Bootstrap::Columns& sums, const Bootstrap::Columns& weights) {
    if (weights.cols() == 1 && sums.cols() != 1) return ratio(sums, weights.replicate(1, sums.cols()));
    return (weights.array() > 0).select(sums.array() / weights.array(), kNaN);
}

void check_columns(const Bootstrap::Columns& sums, const Bootstrap::Columns& weights, std::int64_t texts) {
    if (sums.rows() == texts && weights.rows() == texts && (weights.cols() == 1 || sums.cols() == weights.cols())) return;
    const auto shape = [](const Bootstrap::Columns& of) {
        return "[" + std::to_string(of.rows()) + ", " + std::to_string(of.cols()) + "]";
    };
    throw Error({.problem = "Sums and weights of texts do not fit the bootstrap",
                 .expected = std::to_string(texts) + " texts, columns alike or one of weights",
                 .found = shape(sums) + " and " + shape(weights)});
}

Bootstrap::Columns one_column(std::span<const TextTerm> terms, double TextTerm::*field) {
    Bootstrap::Columns column(std::ssize(terms), 1);
    for (std::size_t i = 0; i < terms.size(); ++i) column(static_cast<Eigen::Index>(i), 0) = terms[i].*field;
    return column;
}

}  // namespace

Interval share_interval(std::int64_t hits, std::int64_t cases) noexcept {
    if (cases <= 0) return {};
    constexpr double z = 1.959963984540054;
    const auto n = static_cast<double>(cases);
    const double share = static_cast<double>(hits) / n, shrink = 1 + z * z / n, middle = (share + z * z / (2 * n)) / shrink,
                 half = z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / shrink;
    return {share, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

Bootstrap::Bootstrap(std::int64_t texts, const BootstrapOptions& options) : texts_(texts), options_(options) {
    if (options.draws < 1 || !(options.level > 0 && options.level < 1))
        throw Error({.problem = "A bootstrap needs draws and a level",
                     .expected = "at least 1 draw, a level between 0 and 1",
                     .found = std::to_string(options.draws) + " draws, level " + significant(options.level)});
    times_.setZero(texts, options.draws);
    at::parallel_for(0, options.draws, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t d = first; d < last; ++d)
            for (std::int64_t i = 0; i < texts; ++i) {
                __extension__ using Wide = unsigned __int128;
                const Wide scaled = static_cast<Wide>(draw(options.seed, d, i)) * static_cast<std::uint64_t>(texts);
                ++times_(static_cast<Eigen::Index>(scaled >> 64), d);
            }
    });
}

Bootstrap::Columns Bootstrap::drawn_means(const Columns& sums, const Columns& weights) const {
    check_columns(sums, weights, texts_);
    Columns drawn(options_.draws, sums.cols());
    const std::int64_t blocks = (options_.draws + kDrawsAtATime - 1) / kDrawsAtATime;
    at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t block = begin; block < end; ++block) {
            const std::int64_t first = block * kDrawsAtATime, count = std::min(kDrawsAtATime, options_.draws - first);
            const Columns times = times_.middleCols(first, count).cast<double>().transpose();
            drawn.middleRows(first, count) = ratio(times * sums, times * weights);
        }
    });
    return drawn;
}

std::vector<Interval> Bootstrap::intervals(const Columns& means, const Columns& drawn, const Columns& counted) const {
    std::vector<Interval> out(static_cast<std::size_t>(means.cols()));
    at::parallel_for(0, means.cols(), 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t c = first; c < last; ++c) {
            Interval& interval = out[static_cast<std::size_t>(c)];
            interval.mean = means(0, c);
            if ((counted.col(counted.cols() == 1 ? 0 : c).array() > 0).count() < kLeastTexts) continue;
            std::vector<double> sorted;
            for (const double x : drawn.col(c))
                if (!std::isnan(x)) sorted.push_back(x);
            std::ranges::sort(sorted);
            if (sorted.empty()) continue;
            interval.low = quantile(sorted, (1 - options_.level) / 2);
            interval.high = quantile(sorted, (1 + options_.level) / 2);
        }
    });
    return out;
}

std::vector<Interval> Bootstrap::means(const Columns& sums, const Columns& weights) const {
    check_columns(sums, weights, texts_);
    return intervals(ratio(sums.colwise().sum(), weights.colwise().sum()), drawn_means(sums, weights), weights);
}

std::vector<Interval> Bootstrap::differences(const Columns& sums_a, const Columns& weights_a, const Columns& sums_b,
                                             const Columns& weights_b) const {
    check_columns(sums_a, weights_a, texts_);
    check_columns(sums_b, weights_b, texts_);
    if (sums_a.cols() != sums_b.cols() || weights_a.cols() != sums_a.cols() || weights_b.cols() != sums_b.cols())
        throw Error({.problem = "Two tables with different columns have no differences",
                     .expected = std::to_string(sums_a.cols()) + " columns",
                     .found = std::to_string(sums_b.cols())});
    const Columns both = (weights_a.array() > 0 && weights_b.array() > 0).cast<double>();
    const auto paired = [&](const Columns& of) -> Columns { return (both.array() > 0).select(of, 0.0); };
    const Columns sa = paired(sums_a), wa = paired(weights_a), sb = paired(sums_b), wb = paired(weights_b);
    return intervals(ratio(sa.colwise().sum(), wa.colwise().sum()) - ratio(sb.colwise().sum(), wb.colwise().sum()),
                     drawn_means(sa, wa) - drawn_means(sb, wb), both);
}

Interval Bootstrap::mean(std::span<const TextTerm> terms) const {
    return means(one_column(terms, &TextTerm::sum), one_column(terms, &TextTerm::weight)).front();
}

Interval Bootstrap::difference(std::span<const TextTerm> a, std::span<const TextTerm> b) const {
    return differences(one_column(a, &TextTerm::sum), one_column(a, &TextTerm::weight), one_column(b, &TextTerm::sum),
                       one_column(b, &TextTerm::weight))
        .front();
}

}  // namespace headlight::corpus
