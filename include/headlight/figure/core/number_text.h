// SPDX-License-Identifier: GPL-3.0-or-later
// How numbers are written, in figures and in the window: true minus signs, commas between thousands, never "0.000" for what is
// not zero.
#pragma once

#include <QString>

#include <cstdint>

namespace headlight::figure {

/// Fixed decimals, for columns and axes; a number that would read as zero has three significant digits instead ("0.000412",
/// "1.23·10⁻⁷"). Empty for NaN; what is below 1e-12 is a rounding error and reads as zero.
QString number_text(double, int decimals = 2);
/// For a number that stands alone: decimals that fall as it grows (0.4312, 7.2041, 70.32, 1,203.4), and three significant digits
/// below 0.001.
QString value_text(double, int decimals = 4);
/// 12,345
QString count_text(std::int64_t);

}  // namespace headlight::figure
