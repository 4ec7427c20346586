// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::ui {

/// For every token of `before` its index in `after`, or -1: common head and tail first, then the longest common
/// subsequence of what lies between (left out when that would be more than about a million comparisons).
std::vector<std::int64_t> align_tokens(const std::vector<std::string>& before, const std::vector<std::string>& after);

/// The same selection on the edited text: pins move with their tokens, pins of tokens that are gone go. Queries and keys
/// are tokens of two texts in a cross attention.
figure::Selection align_selection(figure::Selection, const std::vector<std::int64_t>& queries,
                                  const std::vector<std::int64_t>& keys);

}  // namespace headlight::ui
