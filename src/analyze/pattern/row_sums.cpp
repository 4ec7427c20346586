// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/row_sums.h"

#include "headlight/base/lanes.h"

#include <algorithm>
#include <cstring>

namespace headlight::analyze {
namespace {

using lanes::Floats, lanes::kChunk, lanes::kLanes, lanes::lanes_sum;
constexpr int kHalf = kLanes / 2;
using Half [[gnu::vector_size(kHalf * sizeof(float))]] = float;
using Doubles [[gnu::vector_size(kHalf * sizeof(double))]] = double;

/// Sum of x, or of shares[j] x[j]. Two sums side by side: each addition waits for the one before it.
template <bool kShares>
[[gnu::always_inline]] inline double sum_in_doubles(const double* shares, const float* x, std::int64_t n) {
    Doubles even = {}, odd = {};
    std::int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
        Half halves[2];
        std::memcpy(halves, x + j, sizeof halves);
        Doubles first = __builtin_convertvector(halves[0], Doubles), second = __builtin_convertvector(halves[1], Doubles);
        if constexpr (kShares) {
            Doubles factors[2];
            std::memcpy(factors, shares + j, sizeof factors);
            first *= factors[0];
            second *= factors[1];
        }
        even += first;
        odd += second;
    }
    even += odd;
    double sum = ((even[0] + even[4]) + (even[2] + even[6])) + ((even[1] + even[5]) + (even[3] + even[7]));
    for (; j < n; ++j) sum += (kShares ? shares[j] : 1.0) * static_cast<double>(x[j]);
    return sum;
}

/// of_a += weights[0 ...] a[0 ...], of_b += weights[0 ...] b[0 ...]
[[gnu::always_inline]] inline void add_products(const float* weights, const float* a, const float* b, Floats& of_a,
                                                Floats& of_b) {
    Floats w, s, t;
    std::memcpy(&w, weights, sizeof w);
    std::memcpy(&s, a, sizeof s);
    std::memcpy(&t, b, sizeof t);
    of_a += w * s;
    of_b += w * t;
}

}  // namespace

HEADLIGHT_WIDE double weight_on(const float* weights, model::KeyRange r) {
    return sum_in_doubles<false>(nullptr, weights + r.first, r.last - r.first);
}

HEADLIGHT_WIDE double weighted_sum(const double* shares, const float* x, std::int64_t n) {
    return sum_in_doubles<true>(shares, x, n);
}

HEADLIGHT_WIDE std::array<double, 2> weighted_sums(const float* weights, const float* a, const float* b, std::int64_t n) {
    std::array<double, 2> out{};
    std::int64_t j = 0;
    while (j + 2 * kLanes <= n) {
        const std::int64_t end = std::min(n, j + 4 * kChunk);
        Floats even_a = {}, odd_a = {}, even_b = {}, odd_b = {};
        for (; j + 2 * kLanes <= end; j += 2 * kLanes) {
            add_products(weights + j, a + j, b + j, even_a, even_b);
            add_products(weights + j + kLanes, a + j + kLanes, b + j + kLanes, odd_a, odd_b);
        }
        even_a += odd_a;
        even_b += odd_b;
        out[0] += lanes_sum(even_a);
        out[1] += lanes_sum(even_b);
    }
    for (; j < n; ++j) {
        out[0] += static_cast<double>(weights[j] * a[j]);
        out[1] += static_cast<double>(weights[j] * b[j]);
    }
    return out;
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
