// SPDX-License-Identifier: GPL-3.0-or-later
// Words in messages: what was meant by a misspelt one, and lists.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight {

/// Insertions, deletions, replacements and swaps of neighbours that turn a into b, in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The word most like `typed`; empty when none is near (more than a third of its letters differ).
std::string nearest(std::string_view typed, const std::vector<std::string>& words);

/// "a, b, c": the three words of the smallest distances; of equal ones the first.
std::string nearest_three(std::vector<std::pair<std::size_t, std::string>> by_distance);

/// "a, b or c".
std::string either_of(const std::vector<std::string>& words);

}  // namespace headlight
