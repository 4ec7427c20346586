// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headlight::text {

/// For every token of `before` its index in `after`, or -1: common head and tail first, then the longest common
/// subsequence of what lies between (left out when that would be more than about a million comparisons).
std::vector<std::int64_t> align_tokens(const std::vector<std::string>& before, const std::vector<std::string>& after);

/// A position of each of two texts, where their answers are read.
struct TextEnds {
    std::int64_t target = 0, source = 0;
};

/// For every position of `target` the position of `source` whose tensors are put there, or -1. Texts of equal length are aligned
/// position by position. Otherwise equal tokens are aligned as above, and between two aligned ones a run of tokens with a run of
/// as many others: they replace each other. The ends, by default the last positions, are always partners: where they would not
/// be, what stands before them and what stands after them is aligned separately.
std::vector<std::int64_t> align_positions(const std::vector<std::string>& target, const std::vector<std::string>& source,
                                          std::optional<TextEnds> ends = {});
/// The same of token ids.
std::vector<std::int64_t> align_positions(const std::vector<std::int64_t>& target, const std::vector<std::int64_t>& source,
                                          std::optional<TextEnds> ends = {});

/// The same where no position is known to be one of the answer: no ends that must be partners.
std::vector<std::int64_t> align_without_ends(const std::vector<std::int64_t>& target, const std::vector<std::int64_t>& source);

}  // namespace headlight::text
