// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::cli {

/// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

/// The word most like `typed`; empty when none is near (more than a third of its letters differ).
std::string nearest(std::string_view typed, const std::vector<std::string>& words);

}  // namespace headlight::cli
