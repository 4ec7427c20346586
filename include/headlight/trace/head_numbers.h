// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers of a head that are gathered while its pattern exists. The trace knows rows and their sums; which numbers there
// are and what they mean is up to who registers them (src/analyze/heads/head_measures.cpp).
#pragma once

#include "headlight/base/ids.h"
#include "headlight/model/config.h"
#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace headlight::trace {

/// Which keys the queries of a pattern may attend to.
struct PatternShape {
    std::int64_t queries = 0;
    std::int64_t keys = 0;
    bool across = false;  ///< the keys are another text than the queries
    bool causal = true;
    std::int64_t window = 0;         ///< keys at this distance or farther are illegal; 0: no limit
    std::int64_t first_counted = 0;  ///< tokens before it are context alone: neither their rows nor their values are in a number
    std::int64_t counted_keys() const noexcept { return keys - first_counted; }

    model::KeyRange legal(std::int64_t query) const noexcept { return model::legal_keys(query, keys, causal, window); }
};

/// One query's row of a head's pattern, and what one pass over its weights p gave.
struct PatternRow {
    const PatternShape& shape;
    const float* weights;  ///< [keys up to legal.last]
    const float* lengths;  ///< |v_j W_O| of each key; nullptr: not known
    std::int64_t query;
    model::KeyRange legal;
    double entropy;           ///< -sum p ln p, nats
    double smoothed_entropy;  ///< the same of 0.9999 p + 0.0001 / legal.count()
    double distance;          ///< sum p |query - j|; 0 across texts
    double weighted_length;   ///< sum p lengths; 0 where they are not known
    float largest, second;    ///< largest weight and the next (equal to it where two are)
};

/// A sum over rows and how many of them counted.
struct RowSum {
    double sum = 0;
    std::int64_t rows = 0;
};
using RowSums = std::vector<RowSum>;

/// What is gathered of every head of a stack; one for each text and window. Called from several threads at once.
class HeadNumbers {
public:
    virtual ~HeadNumbers() = default;
    virtual std::size_t size() const noexcept = 0;  ///< of the sums of a head, and of its numbers
    virtual void add_row(const PatternRow&, RowSums&) const = 0;
    /// `columns`: float sums of weights over a few rows, for each of the first `keys` keys; `sign` 1 or -1.
    virtual void add_columns(const float* columns, std::int64_t keys, double sign, RowSums&) const = 0;
    /// The distances query - key >= 0 that add_diagonals() wants; empty: it is not called.
    virtual model::KeyRange distances() const { return {}; }
    /// Float sums of weights over a few rows at these distances: diagonals[queries - 1 - distance]. Row 0 of a causal model is
    /// not in them.
    virtual void add_diagonals(const float* /*diagonals*/, RowSums&) const {}
    virtual void merge(RowSums& into, const RowSums& from) const = 0;
    /// `mean_length`: mean of |v_j W_O| over the keys, NaN where not known. `with_first_row`: the sums include row 0 of a
    /// causal model.
    virtual std::vector<double> finish(const RowSums&, double mean_length, bool with_first_row) const = 0;
    /// How many rows (of lengths of values: keys) each number of finish() is over, row 0 of a causal model left out.
    virtual std::vector<std::int64_t> counted(const RowSums&) const { return {}; }
};

/// `keys`: the text of the pattern's columns.
using MakeHeadNumbers = std::unique_ptr<const HeadNumbers> (*)(const PatternShape&, const text::Tokenizer&,
                                                               const text::Encoding& keys);
/// What every later run with an overview gathers of its heads, besides the pooled pictures. One per program, set before its
/// first run; returns true.
bool gather_head_numbers(MakeHeadNumbers) noexcept;
/// nullptr: nothing is gathered.
MakeHeadNumbers gathered_head_numbers() noexcept;

class Trace;
/// How many rows each of Trace::head_numbers() is over, row 0 of a causal model left out. Error without them.
const std::vector<std::int64_t>& counted_rows(const Trace&, HeadId);

}  // namespace headlight::trace
