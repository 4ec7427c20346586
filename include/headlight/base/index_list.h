// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// "0,2,5-7": sorted, each once. Error for anything that is not a number up to a million or a range of two.
std::vector<std::int64_t> index_list(std::string_view text);
/// The shortest text that index_list() reads as the same.
std::string index_list_text(const std::vector<std::int64_t>& sorted);

}  // namespace headlight
