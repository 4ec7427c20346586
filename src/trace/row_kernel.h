// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loop over one row of a pattern: everything that needs each weight once.
#pragma once

#include <array>
#include <cstdint>

namespace headlight::trace {

constexpr int kRowLanes = 16;  ///< floats a step

struct RowInput {
    const float* row = nullptr;  ///< n weights
    std::int64_t n = 0;
    std::int64_t readable = 0;      ///< floats that may be read from row
    std::int64_t first_key = 0;     ///< of the weights
    const float* factor = nullptr;  ///< one for each key, with room for a whole step behind the last
    float floor = 0;                ///< what smoothing adds to every weight, 0.0001 / keys
    bool logs = true;               ///< RowNumbers::plogp is wanted
};

/// Maxima (or none) and sums down the columns; with room for a whole step behind the last.
struct RowColumns {
    float* max = nullptr;
    float* sum = nullptr;
};

struct RowNumbers {
    double sum = 0;       ///< sum p
    double index = 0;     ///< sum p j
    double plogp = 0;     ///< sum p ln p
    double smoothed = 0;  ///< sum q ln q, q = 0.9999 p + floor
    double scaled = 0;    ///< sum p factor
    /// Of each lane, the largest weight and the next.
    std::array<float, kRowLanes> largest{}, second{};

    /// The largest weight and the next, which is equal to it where two are.
    std::array<float, 2> two_largest() const;
};

/// Adds a stretch of a row to the columns and its numbers to `out`. Floats are summed over at most 256 keys, these in float64.
void row_pass(const RowInput&, const RowColumns&, RowNumbers& out);

/// Adds n numbers of each of these rows to the columns, each from where it starts.
void add_together(const float* const* rows, std::int64_t count, std::int64_t n, const RowColumns&);
/// Maximum and sum of n numbers, of which the maximum is at least 0. Floats are summed over n / 16 of them.
struct Pooled {
    float max = 0;
    double sum = 0;
};
Pooled pool(const float* max, const float* sum, std::int64_t n);

}  // namespace headlight::trace
