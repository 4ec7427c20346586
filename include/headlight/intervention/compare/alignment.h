// SPDX-License-Identifier: GPL-3.0-or-later
// Which parts of two texts stand for each other.
#pragma once

#include "headlight/trace/trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::intervention {

/// Positions of a text that are compared as one: a token; between two tokenizers, the tokens between two places of a word where
/// both have a boundary.
struct TextUnit {
    std::int64_t first = 0, count = 1;
    bool operator==(const TextUnit&) const = default;
};

struct Alignment {
    std::vector<TextUnit> a, b;    ///< all positions of each text, in order
    std::vector<std::int64_t> to;  ///< [unit of a] its unit of b, ascending, or -1
    bool pooled = false;           ///< two tokenizers: tokens are aligned by the characters that they stand for
    bool operator==(const Alignment&) const = default;

    std::int64_t aligned() const noexcept;   ///< pairs of units
    std::vector<std::int64_t> back() const;  ///< [unit of b] its unit of a, or -1
    /// For every position of a the first position of its unit's partner, or -1.
    std::vector<std::int64_t> positions() const;
};

/// A row of both texts one below the other: a unit of a, of b, or of both (-1: not in this text). Units that only one text has
/// stand where they are in it, those of a first.
struct MergedUnit {
    std::int64_t a = -1, b = -1;
    bool both() const noexcept { return a >= 0 && b >= 0; }
    bool operator==(const MergedUnit&) const = default;
};
std::vector<MergedUnit> merged(const Alignment&);

/// The rows of two traces, or their columns, which are another text in a cross attention. The same tokenizer: equal tokens,
/// common head and tail first, then the longest common subsequence; a single token that is replaced by a single other one,
/// between tokens that both have, stands for it. Another one: words equal but for case in the same way, and in them the stretches
/// between common boundaries; what a template adds has no partner then.
Alignment align_queries(const trace::Trace& a, const trace::Trace& b);
Alignment align_keys(const trace::Trace& a, const trace::Trace& b);

/// What a unit is called: its tokens' labels, joined.
std::string unit_label(const std::vector<text::TokenLabel>&, TextUnit);

/// Tokens of both traces mean the same: one tokenizer, or two that read both texts alike.
bool same_tokens(const trace::Trace& a, const trace::Trace& b);

}  // namespace headlight::intervention
