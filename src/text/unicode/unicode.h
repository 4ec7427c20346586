// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/section.h"

/// Character properties, from ICU. Hugging Face `tokenizers` takes its properties from several tables of different
/// Unicode versions; ids can only be equal when a character added later is unknown here as it is there (and the other
/// way round), so each function names the version it follows.
namespace headlight::text::unicode {

bool is_space(char32_t) noexcept;          ///< White_Space
bool is_letter(char32_t) noexcept;         ///< L, Unicode 16 (Oniguruma)
bool is_number(char32_t) noexcept;         ///< N, Unicode 16 (Oniguruma)
bool is_numeric(char32_t) noexcept;        ///< N, Unicode 17 (Rust)
bool is_word(char32_t) noexcept;           ///< \w: Alphabetic, M, Nd, Pc, Join_Control, Unicode 16 (Rust regex)
bool is_punctuation(char32_t) noexcept;    ///< P, Unicode 8, and all ASCII symbols: what BERT splits at
bool is_nonspacing(char32_t) noexcept;     ///< Mn, Unicode 8: what BERT strips
bool is_mark(char32_t) noexcept;           ///< M, Unicode 9: what StripAccents strips
bool is_invisible(char32_t) noexcept;      ///< Cc, Cf, Co of Unicode 8, U+FFFD: what BERT drops (tab, CR, LF are not)
bool is_chinese(char32_t) noexcept;        ///< the CJK ideograph blocks of BERT's list
char32_t simple_lower(char32_t) noexcept;  ///< Unicode 17, without U+0130 (which becomes two)

/// Full lower case of one character: "İ" becomes "i" and U+0307. Returns how many.
std::size_t lower(char32_t c, std::array<char32_t, 2>& out) noexcept;

/// Full case folding (CaseFolding.txt, C and F): "É" and "é" become the same, and "ß" and "SS". Bytes that are not UTF-8 stay.
std::string case_folded(std::string_view);

enum class Form { NFC, NFD, NFKC, NFKD };
/// Normalises a run of characters (Unicode 9). Every character that takes the place of one before gets that one's
/// alignment, an additional one the alignment of its predecessor.
void normalize(std::vector<Char>& run, Form form);

}  // namespace headlight::text::unicode
