// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/section.h"

#include <string_view>
#include <vector>

/// Hand-written equivalents of two regular expressions that most byte-level models use. Each covers the whole text.
namespace headlight::text::scanners {

/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
void gpt2(std::string_view text, std::vector<Span>& out);

/// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
/// ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
void gpt4(std::string_view text, std::size_t digits, std::vector<Span>& out);

}  // namespace headlight::text::scanners
