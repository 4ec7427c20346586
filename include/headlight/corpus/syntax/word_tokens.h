// SPDX-License-Identifier: GPL-3.0-or-later
// Treebanks annotate words, models read tokens: both are mapped to the bytes of the text.
#pragma once

#include "headlight/corpus/reading/text.h"
#include "headlight/text/encoding.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::corpus {

/// A token belongs to every word whose bytes it overlaps.
struct WordTokens {
    std::vector<std::vector<std::int64_t>> of_word;   ///< [word] positions; empty: the tokenizer dropped the word
    std::vector<std::vector<std::int32_t>> of_token;  ///< [position] words; empty: special, or white space
    std::int64_t shared = 0;                          ///< tokens that belong to several words
    std::int64_t without = 0;                         ///< words without a token
};
/// `first_byte`: the start of the encoded chunk in Text::text.
WordTokens word_tokens(const Text&, const text::Encoding&, std::int64_t first_byte = 0);

/// Two words of a multiword token that is not their concatenation (Spanish "al" = "a" + "el") have the same tokens: attention
/// cannot distinguish them, so no head can show an arc between them.
inline bool same_bytes(const Word& a, const Word& b) noexcept { return a.shares_span && b.shares_span && a.begin == b.begin; }

/// Attention between words (Clark et al. 2019, section 4.1) of a pattern [token, token]: columns of a word's tokens are summed,
/// its rows averaged; the attention to a token of several words is split equally. Row-major [word, word]. A row sums to 1 minus
/// the attention to special tokens; rows and columns of words without a token are 0.
void word_attention(std::span<const float> pattern, std::int64_t keys, const WordTokens&, std::vector<double>& out);

}  // namespace headlight::corpus
