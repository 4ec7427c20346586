// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/lanes.h"

namespace headlight::map {

/// 1 / x for x in [1, 1e30]: a guess from the bits and two steps of third order. A division of sixteen floats takes as long as
/// the rest of the computation for a pair.
[[gnu::always_inline]] inline void reciprocal(const lanes::Floats& x, lanes::Floats& out) {
    lanes::Ints bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = 0x7EF311C7 - bits;
    lanes::Floats r;
    std::memcpy(&r, &bits, sizeof r);
    for (int step = 0; step < 2; ++step) {
        const lanes::Floats e = 1.0F - x * r;
        r = r + r * (e * e + e);
    }
    out = r;
}

}  // namespace headlight::map
