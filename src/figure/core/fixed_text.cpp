// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/fixed_text.h"
#include "headlight/figure/core/number_text.h"

#include <cmath>

namespace headlight::figure::draw {
namespace {

constexpr double reads_as_zero = 1e-12;  ///< a rounding error
constexpr int most_decimals = 9;

}  // namespace

QString fixed_text(double value, int decimals) {
    const double unit = std::pow(10, -decimals), size = std::abs(value);
    if (!(size >= reads_as_zero && size < 0.5 * unit)) return number_text(value, decimals);
    return (value < 0 ? QStringLiteral(">−") : QStringLiteral("<")) + number_text(unit, decimals);
}

int decimals_for(double largest, int least) {
    for (int decimals = least; decimals <= most_decimals; ++decimals)
        if (std::round(largest * std::pow(10, decimals)) >= 10) return decimals;
    return least;
}

}  // namespace headlight::figure::draw
