// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/statistics/quantile.h"

#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>

namespace headlight::corpus {

double quantile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return kNaN;
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Box box_of(std::vector<double> values) {
    std::ranges::sort(values);
    return {quantile(values, 0), quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75), quantile(values, 1)};
}

}  // namespace headlight::corpus
