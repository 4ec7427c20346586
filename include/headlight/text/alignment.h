// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::text {

/// For every token of `before` its index in `after`, or -1: common head and tail first, then the longest common
/// subsequence of what lies between (left out when that would be more than about a million comparisons).
std::vector<std::int64_t> align_tokens(const std::vector<std::string>& before, const std::vector<std::string>& after);

}  // namespace headlight::text
