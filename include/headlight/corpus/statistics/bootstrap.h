// SPDX-License-Identifier: GPL-3.0-or-later
// Intervals of means over texts: the percentile bootstrap (Efron & Tibshirani 1993, ch. 13). Whole texts are drawn with
// replacement, since the tokens of one text are not independent observations.
#pragma once

#include "headlight/base/numbers.h"

#include <Eigen/Core>

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::corpus {

/// The contribution of a text to a weighted mean: hits and cases for a rate, x and 1 for a mean in which every text counts the
/// same, the sum over the text's tokens and their number for a mean over tokens. A text without a value has weight 0.
struct TextTerm {
    double sum = 0, weight = 0;
};

struct Interval {
    double mean = kNaN;              ///< of the original texts, without resampling
    double low = kNaN, high = kNaN;  ///< NaN: fewer than kLeastTexts texts with a weight (least_texts.h)
};

/// A share of cases that are independent of one another, with Wilson's interval of 95 % (1927), which stays within 0 and 1.
Interval share_interval(std::int64_t hits, std::int64_t cases) noexcept;

struct BootstrapOptions {
    std::int64_t draws = 1000;
    double level = 0.95;  ///< share of the draws within the interval
    std::uint64_t seed = 0;
    bool operator==(const BootstrapOptions&) const = default;
};

/// Resamples of a corpus, with the same draws for every mean: columns of a table can be compared, and a difference of two means
/// is paired. The same texts, draws and seed give the same bits on any number of threads.
class Bootstrap {
public:
    using Columns = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic>;  ///< [text, column]

    explicit Bootstrap(std::int64_t texts, const BootstrapOptions& = {});

    /// Of each column: sum over texts of `sums` / sum over texts of `weights`, of which one column may stand for all. Error if
    /// a size is not the number of texts.
    std::vector<Interval> means(const Columns& sums, const Columns& weights) const;
    /// Mean of a - mean of b, texts paired: a text counts where both have a weight.
    std::vector<Interval> differences(const Columns& sums_a, const Columns& weights_a, const Columns& sums_b,
                                      const Columns& weights_b) const;

    Interval mean(std::span<const TextTerm>) const;
    Interval difference(std::span<const TextTerm> a, std::span<const TextTerm> b) const;

    /// The mean of every draw, [draw, column]; NaN where the drawn texts have no weight.
    Columns drawn_means(const Columns& sums, const Columns& weights) const;

private:
    std::int64_t texts_;
    BootstrapOptions options_;
    Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic> times_;  ///< [text, draw]: how often the draw has the text

    std::vector<Interval> intervals(const Columns& means, const Columns& drawn, const Columns& counted) const;
};

}  // namespace headlight::corpus
