// SPDX-License-Identifier: GPL-3.0-or-later
// What a row of a pattern has on some of its keys, many floats at a time.
#pragma once

#include "headlight/model/config.h"

#include <cstdint>

namespace headlight::analyze {

/// Sum of weights[r.first, r.last). Floats are summed over at most 256 keys, these in float64.
double weight_on(const float* weights, model::KeyRange r);
/// Whether one of the first n keys has exactly this weight.
bool has(const float* weights, std::int64_t n, float weight);
/// The first of the keys with the largest weight; r is not empty.
std::int64_t largest_key(const float* weights, model::KeyRange r);

/// sum shares[j] x[j], in float64.
double weighted_sum(const double* shares, const float* x, std::int64_t n);

}  // namespace headlight::analyze
