// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/row_sums.h"

#include "headlight/base/lanes.h"

#include <algorithm>
#include <cstring>

namespace headlight::analyze {
namespace {

using lanes::Floats, lanes::kLanes;
constexpr int kHalf = kLanes / 2;
using Half [[gnu::vector_size(kHalf * sizeof(float))]] = float;
using Doubles [[gnu::vector_size(kHalf * sizeof(double))]] = double;

}  // namespace

HEADLIGHT_WIDE double weight_on(const float* weights, model::KeyRange r) { return lanes::sum_of(weights, r.first, r.last); }

/// Two sums side by side: each addition waits for the one before it.
HEADLIGHT_WIDE double weighted_sum(const double* shares, const float* x, std::int64_t n) {
    Doubles even = {}, odd = {};
    std::int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        Half halves[2];
        Doubles factors[2];
        std::memcpy(halves, x + j, sizeof halves);
        std::memcpy(factors, shares + j, sizeof factors);
        even += __builtin_convertvector(halves[0], Doubles) * factors[0];
        odd += __builtin_convertvector(halves[1], Doubles) * factors[1];
    }
    even += odd;
    double sum = ((even[0] + even[4]) + (even[2] + even[6])) + ((even[1] + even[5]) + (even[3] + even[7]));
    for (; j < n; ++j) sum += shares[j] * static_cast<double>(x[j]);
    return sum;
}

HEADLIGHT_WIDE bool has(const float* weights, std::int64_t n, float weight) {
    constexpr std::int64_t kAtOnce = 8 * kLanes;
    std::int64_t j = 0;
    for (; j + kAtOnce <= n; j += kAtOnce) {
        lanes::Ints found = {};
        for (std::int64_t k = 0; k < kAtOnce; k += kLanes) {
            Floats next;
            std::memcpy(&next, weights + j + k, sizeof next);
            found |= next == weight;
        }
        std::int32_t any = 0;
        for (int k = 0; k < kLanes; ++k) any |= found[k];
        if (any != 0) return true;
    }
    return std::find(weights + j, weights + n, weight) != weights + n;
}

HEADLIGHT_WIDE std::int64_t largest_key(const float* weights, model::KeyRange r) {
    Floats best = Floats{} + weights[r.first];
    std::int64_t j = r.first;
    for (; j + kLanes <= r.last; j += kLanes) {
        Floats next;
        std::memcpy(&next, weights + j, sizeof next);
        best = next > best ? next : best;
    }
    float largest = best[0];
    for (int k = 1; k < kLanes; ++k) largest = std::max(largest, best[k]);
    for (; j < r.last; ++j) largest = std::max(largest, weights[j]);
    return std::find(weights + r.first, weights + r.last, largest) - weights;
}

}  // namespace headlight::analyze
