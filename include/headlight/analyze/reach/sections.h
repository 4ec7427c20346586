// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/ids.h"
#include "headlight/text/encoding.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::analyze {

/// A paragraph of a text: tokens [first, first + count).
struct TextSection {
    Position first;
    std::int64_t count = 0;
    std::string title;  ///< its first words, one line, at most 48 bytes and an ellipsis
    Position last() const { return Position(first.value + count - 1); }
};

/// Paragraphs, which blank lines part; lines in a text without blank lines. The line breaks belong to the paragraph before,
/// special tokens to the one that they stand in; sentence B starts a section. Never empty for a text with tokens.
std::vector<TextSection> text_sections(const text::Encoding&, std::string_view a, std::string_view b = {});
/// Of the text whose tokens are the trace's queries.
std::vector<TextSection> text_sections(const trace::Trace&);
/// Index of the section that a position is in.
std::int64_t section_of(const std::vector<TextSection>&, Position) noexcept;

}  // namespace headlight::analyze
