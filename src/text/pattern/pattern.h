// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/files/json_fields.h"
#include "text/section.h"

#include <memory>
#include <string_view>
#include <vector>

namespace headlight::text {

/// What a Split or a Replace looks for. Finds matches left to right, none overlapping.
class Pattern {
public:
    virtual ~Pattern() = default;
    /// Adds every match in `text`, which is valid UTF-8, to `out`; the matches lie between character boundaries.
    /// The time is taken from the budget; nullptr: that of a short text.
    virtual void find(std::string_view text, Budget*, std::vector<Span>& out) const = 0;
};

using PatternPtr = std::unique_ptr<const Pattern>;

/// From {"String": …} or {"Regex": …}. Regular expressions are in Oniguruma's syntax, as `tokenizers` reads them; the
/// well-known ones (GPT-2, GPT-4, Llama 3, Qwen 2) have scanners of their own, others run through ICU.
PatternPtr make_pattern(const Field&);

/// GPT-2's pattern, by a hand-written scanner.
PatternPtr make_gpt2_pattern();

}  // namespace headlight::text
