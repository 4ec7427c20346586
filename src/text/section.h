// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/text/encoding.h"
#include "text/budget.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

/// Bytes of the text as typed that one character of a section stands for.
struct Align {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool operator==(const Align&) const = default;
};

/// Bytes of a section's text.
struct Span {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t size() const noexcept { return end - begin; }
};

/// A stretch of the text between added tokens, on its way through normalizer and pre-tokenizer.
/// It knows for each of its bytes which bytes of the text as typed it came from. As long as byte i still stands for
/// byte origin + i, no table is kept (`align` empty): the common case for plain text.
struct Section {
    std::string text;
    std::vector<Align> align;  ///< one for each byte of text, or empty; bytes of one character share theirs
    std::uint32_t origin = 0;  ///< where the stretch begins in the text as typed
    std::vector<Span> spans;   ///< what the pre-tokenizer made of it, in order, none empty
    Budget* budget = nullptr;  ///< of the whole text; nullptr: none
    bool byte_level = false;   ///< the model is to read bytes, as if each were written in the byte-level alphabet

    static Section whole(std::string_view typed, std::size_t begin, std::size_t end);
    /// Error when normalizers may not make this section so long.
    void may_become(std::size_t bytes) const;
    /// Alignment of the character that byte `at` belongs to.
    Align at(std::size_t at) const;
    /// Bytes as typed after text[begin, end); a part of a character counts as the whole character.
    ByteRange typed(std::size_t begin, std::size_t end) const;
    /// A part between character boundaries, without spans.
    Section slice(std::size_t begin, std::size_t end) const;
    /// Replaces each byte by its character of the byte-level alphabet, for stages that come after ByteLevel.
    void write_out_bytes();
};

/// One character and what it came from.
struct Char {
    char32_t c = 0;
    Align align;
    bool operator==(const Char&) const = default;
};

/// Builds the next state of a section: parts are kept or replaced in order. Nothing changes before apply().
class Rewrite {
public:
    explicit Rewrite(Section& section) : section_(section) {}
    /// Copies what lies between the end of the last replacement and `begin`, then puts `chars` in place of [begin,
    /// end).
    void replace(std::size_t begin, std::size_t end, const std::vector<Char>& chars);
    /// The same with a text whose characters all come from `align`.
    void replace(std::size_t begin, std::size_t end, std::string_view content, Align align);
    void apply();

private:
    void keep_until(std::size_t end);
    Section& section_;
    std::string text_;
    std::vector<Align> align_;
    std::size_t done_ = 0;
    bool changed_ = false;
};

/// Characters of text[begin, end).
std::vector<Char> chars_of(const Section&, std::size_t begin, std::size_t end);

/// Hands each maximal run of non-ASCII characters to `change`. With `with_base` the ASCII character before the run
/// comes along (a mark composes with it). `change` rewrites the vector in place.
void rewrite_runs(Section&, bool with_base, const std::function<void(std::vector<Char>&)>& change);

}  // namespace headlight::text
