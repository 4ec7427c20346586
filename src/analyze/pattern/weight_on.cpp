// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/pattern/weight_on.h"

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

HEADLIGHT_WIDE double weight_on(const float* weights, model::KeyRange r) {
    Doubles even = {}, odd = {};
    std::int64_t j = r.first;
    for (; j + kLanes <= r.last; j += kLanes) {
        Half halves[2];
        std::memcpy(halves, weights + j, sizeof halves);
        even += __builtin_convertvector(halves[0], Doubles);
        odd += __builtin_convertvector(halves[1], Doubles);
    }
    even += odd;
    double sum = ((even[0] + even[4]) + (even[2] + even[6])) + ((even[1] + even[5]) + (even[3] + even[7]));
    for (; j < r.last; ++j) sum += static_cast<double>(weights[j]);
    return sum;
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
