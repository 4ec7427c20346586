// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace headlight {

/// A value that does not exist: a gap in a plot, an empty field in a table.
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// 12345 -> "12,345": numbers in messages, whatever the user's locale.
std::string with_commas(std::int64_t n);
/// 30081024 -> "30,081,024 bytes". Of a damaged file it may be any number.
std::string bytes_text(std::uint64_t n);
/// 1.53e9 -> "1.5 GB", below a gigabyte whole "512 MB" or "7 kB", for people.
std::string rounded_bytes(double n);
/// "[2, 3]"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// Three significant digits, for people: "0.0421", "70.3", "1,234", "4.21e-05"; "0" for 0, "–" for NaN.
std::string significant(double x);

}  // namespace headlight
