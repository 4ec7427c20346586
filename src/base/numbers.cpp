// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/numbers.h"

namespace headlight {

std::string with_commas(std::int64_t n) {
    std::string digits = std::to_string(n);
    const auto first = static_cast<std::int64_t>(n < 0 ? 1 : 0);
    for (auto at = static_cast<std::int64_t>(digits.size()) - 3; at > first; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return digits;
}

}  // namespace headlight
