// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace headlight::figure {

/// The least of 1, 2, 5, 10, 20 … whose multiples stand at least `least` apart on an axis of `count` places and this length.
inline std::int64_t round_step(std::int64_t count, double length, double least) {
    for (std::int64_t power = 1;; power *= 10)
        for (const std::int64_t step : {power, 2 * power, 5 * power})
            if (step >= count || static_cast<double>(step) * length >= least * static_cast<double>(count)) return step;
}

}  // namespace headlight::figure
