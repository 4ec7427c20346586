// SPDX-License-Identifier: GPL-3.0-or-later
// An index of every head's attention between the words of a treebank, small enough to be stored: it answers questions about
// syntax without the model.
#pragma once

#include "headlight/corpus/accumulate/stored.h"
#include "headlight/corpus/syntax/word_tokens.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headlight::corpus {

/// Weights are kept as round(32767 w) in 16 bits: off by at most 1.6e-5. A word takes twelve bytes per head.
inline constexpr double kWeightUnit = 1.0 / 32767;

/// A sentence of the index, or of a document the sentences that a chunk holds whole. [word, head] arrays count heads as layer *
/// n_heads + head; words count within it.
struct IndexedSentence {
    std::string id;
    std::int32_t first_word = 0;     ///< index of the first one in Text::words
    std::vector<Word> words;         ///< without xpos and features
    std::vector<std::uint8_t> read;  ///< [word] 1: it has tokens

    /// The other word of its sentence that a word attends to most, and the one that attends to it most; -1: it attends to no
    /// other word. Ties go to the first. Attention between words is word_attention().
    std::vector<std::int16_t> to, from;
    std::vector<std::int16_t> to_weight, from_weight;
    /// Weights between a word and the word that it depends on: of the dependent to its head, and of the head to its dependent. 0
    /// for a root.
    std::vector<std::int16_t> head_weight, dependent_weight;
};

/// The first and the last word + 1 of the sentence of a word.
std::pair<std::int32_t, std::int32_t> sentence_of(std::span<const Word> words, std::int32_t word);

/// The words of a chunk that the index has: of a treebank's sentence all, if the chunk is whole; of a document those of the
/// sentences that end in the chunk and begin in it.
struct IndexedWords {
    Text text;               ///< only words; heads count from the first
    std::int32_t first = 0;  ///< index of the first one in Text::words
    std::int64_t cut = 0;    ///< other sentences that end in the chunk; of texts that are too long 1 in their first chunk
};
IndexedWords indexed_words(const TextRun&);

/// Accumulator "words" of a treebank. A sentence that no chunk holds whole, or a text of more than 32,767 words, is left out and
/// counted.
class WordIndex final : public Stored<WordIndex> {
public:
    WordIndex(std::int64_t n_layers, std::int64_t n_heads, bool causal)
        : n_layers_(n_layers), n_heads_(n_heads), causal_(causal) {}
    /// Reads the arrays of save(), of any model. Error if there are none: the store is not of a treebank, or did not gather the
    /// index.
    static WordIndex read(const Arrays&);

    std::int64_t n_layers() const noexcept { return n_layers_; }
    std::int64_t n_heads() const noexcept { return n_heads_; }
    std::int64_t heads() const noexcept { return n_layers_ * n_heads_; }
    bool causal() const noexcept { return causal_; }
    /// Whether any word has arcs of DEPS.
    bool enhanced() const noexcept;
    /// By the text's number in the store.
    const std::map<std::int64_t, IndexedSentence>& sentences() const noexcept { return sentences_; }

    struct Counts {
        std::int64_t left_out = 0;       ///< sentences, and texts of too many words
        std::int64_t shared_tokens = 0;  ///< over several words
        std::int64_t unread_words = 0;   ///< without a token
    };
    const Counts& counts() const noexcept { return counts_; }

    std::unique_ptr<TextPatterns> patterns_of(const TextRun&) const override;
    void add(const TextRun&, TextPatterns*) override;

private:
    void stored(Archive&) override;

    std::int64_t n_layers_, n_heads_;
    bool causal_;
    std::map<std::int64_t, IndexedSentence> sentences_;
    Counts counts_;
};

/// A row of the table of kinds.
AccumulatorKind words_kind();

}  // namespace headlight::corpus
