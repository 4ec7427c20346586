// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace headlight {

/// 12345 -> "12,345": numbers in messages, whatever the user's locale.
std::string with_commas(std::int64_t n);

}  // namespace headlight
