// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace headlight {

/// A value that does not exist: a gap in a plot, an empty field in a table.
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// 12345 -> "12,345": numbers in messages, whatever the user's locale.
std::string with_commas(std::int64_t n);

}  // namespace headlight
