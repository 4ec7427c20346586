// SPDX-License-Identifier: GPL-3.0-or-later
// The texts of a store with their tokens, so that questions and examples do not need the original files.
#pragma once

#include "headlight/corpus/accumulate/arrays.h"
#include "headlight/corpus/store/chunks.h"
#include "headlight/corpus/store/manifest.h"

#include <initializer_list>
#include <vector>

namespace headlight::corpus {

/// Consecutive texts and chunks: one file of the folder texts.
struct TextPart {
    std::vector<Text> texts;
    std::vector<Chunk>
        chunks;  ///< `number` and `text` count from 0 in the part; tokens have only ids until a tokenizer names them
    std::int64_t tokens() const noexcept;
};
Arrays arrays_of(const TextPart&);
/// Error for a damaged file, naming it.
TextPart part_of(const Arrays&, const std::filesystem::path& file);
/// Hash of a run's input for a chunk: its numbers in the store, its tokens, and the words and mentions of its text.
std::uint64_t chunk_hash(const Chunk&, const Text&);

/// Reads texts and chunks by their numbers, a part at a time.
class TextStore {
public:
    /// `tokenizer` names the tokens of chunks; nullptr: they have no names.
    TextStore(std::filesystem::path store, const Manifest&, const headlight::text::Tokenizer* tokenizer = nullptr);
    std::int64_t texts() const noexcept { return first_text_.back(); }
    std::int64_t chunks() const noexcept { return first_chunk_.back(); }
    /// The references hold until another part is read. Errors: a part that is missing, damaged, or not the one in the manifest.
    const Text& text(std::int64_t number);
    const Chunk& chunk(std::int64_t number);
    /// The same. Error if it has no tokens at these positions, which results name.
    const Chunk& chunk_with(std::int64_t number, std::initializer_list<std::int64_t> positions);
    std::vector<std::int64_t> text_of_chunk();  ///< [chunk] number of its text

private:
    const TextPart& part(std::size_t index);

    std::filesystem::path store_;
    std::vector<StorePart> files_;
    std::vector<bool> checked_;                           ///< [part] its SHA-256 is the manifest's
    std::vector<std::int64_t> first_text_, first_chunk_;  ///< of each part, and the end
    const headlight::text::Tokenizer* tokenizer_;
    std::size_t read_ = SIZE_MAX;
    TextPart part_;
};

/// The texts to add.
struct AddTexts {
    std::filesystem::path from;
    std::int64_t limit = 0;  ///< texts in the store at most; 0: all
    bool append = false;     ///< add after the store's; otherwise the texts must begin with the store's, which is checked
};
/// Reads and cuts texts into the store, part by part; the manifest is written after each. Existing texts stay. Texts to append
/// that begin with all of the last addition's count as that addition given again: only the new ones are added after it. Returns
/// the number of new texts. Errors: those of read_texts(), texts that differ from the store's.
std::int64_t add_texts(const std::filesystem::path& store, Manifest&, const headlight::text::Tokenizer&, const AddTexts&,
                       const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::corpus
