// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

/// Half-open byte range in the UTF-8 text as typed. Special tokens that a template adds have {0, 0}.
struct ByteRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool operator==(const ByteRange&) const = default;
};

/// The model's input, and where each token came from. All vectors have the same length.
struct Encoding {
    std::vector<std::int64_t> ids;
    std::vector<std::string> tokens;     ///< vocabulary strings ("Ġthe", "##ing")
    std::vector<ByteRange> offsets;      ///< in sentence A or B, see `sequence`
    std::vector<std::int64_t> type_ids;  ///< 0 or 1
    std::vector<bool> special;           ///< added by the template (not: special tokens typed in the text)
    std::vector<std::int64_t> words;     ///< word of the pre-tokenizer, -1 for special tokens; restarts in B
    std::vector<std::int64_t> sequence;  ///< 0 = A, 1 = B, -1 = special
    /// Of a picture, whose patches are the tokens: its normalised pixels [colour, row, column], which the model gets in
    /// place of the ids. Null: a text.
    std::shared_ptr<const std::vector<float>> pixels{};

    std::int64_t size() const noexcept { return static_cast<std::int64_t>(ids.size()); }
    /// First position of sentence B's part as BertViz counts it (A's part includes [CLS] and the first [SEP]); size() without a
    /// pair.
    std::int64_t pair_start() const noexcept;
    /// Appends another encoding after this one.
    void append(const Encoding&);
};

/// Encoding::words with every combining mark, virama and joiner in the word that it is written in, which pre-tokenizers of
/// letters cut off: "नमस्ते" is one word. `a`, `b`: the texts of sequence 0 and 1. Ids are those of the word's first token.
std::vector<std::int64_t> whole_words(const Encoding&, std::string_view a, std::string_view b);

}  // namespace headlight::text
