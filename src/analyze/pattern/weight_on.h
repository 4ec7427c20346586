// SPDX-License-Identifier: GPL-3.0-or-later
// What a row of a pattern has on a range of its keys, many floats at a time.
#pragma once

#include "headlight/model/config.h"

#include <cstdint>

namespace headlight::analyze {

/// Sum of weights[r.first, r.last), in float64.
double weight_on(const float* weights, model::KeyRange r);
/// The first of the keys with the largest weight; r is not empty.
std::int64_t largest_key(const float* weights, model::KeyRange r);

}  // namespace headlight::analyze
