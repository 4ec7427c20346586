// SPDX-License-Identifier: GPL-3.0-or-later
// How far a mean over texts could be off: the percentile bootstrap (Efron & Tibshirani 1993, ch. 13). Whole texts are drawn with
// replacement, since the tokens of one text are no independent observations.
#pragma once

#include "headlight/base/numbers.h"

#include <Eigen/Core>

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::corpus {

/// What a text adds to a weighted mean: a rate has hits and cases, a mean in which every text counts the same has x and 1, a mean
/// over tokens has the sum over the text's tokens and their number. A text that has no value has weight 0.
struct TextTerm {
    double sum = 0, weight = 0;
};

struct Interval {
    double mean = kNaN;              ///< of the texts as they are
    double low = kNaN, high = kNaN;  ///< NaN below two texts with a weight
};

struct BootstrapOptions {
    std::int64_t draws = 1000;
    double level = 0.95;  ///< share of the draws within the interval
    std::uint64_t seed = 0;
};

/// A corpus drawn again and again, so that every mean of it is drawn on the same texts: columns of a table can be compared, and a
/// difference of two means is paired. The same texts, draws and seed give the same bits on any number of threads.
class Bootstrap {
public:
    using Columns = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic>;  ///< [text, column]

    explicit Bootstrap(std::int64_t texts, const BootstrapOptions& = {});

    /// Of each column: sum over texts of `sums` / sum over texts of `weights`, of which one column may stand for all. Error when
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
