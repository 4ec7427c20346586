// SPDX-License-Identifier: GPL-3.0-or-later
// The texts of a store with their tokens: questions are asked and examples shown without the original files.
#pragma once

#include "headlight/corpus/accumulate/arrays.h"
#include "headlight/corpus/store/chunks.h"
#include "headlight/corpus/store/manifest.h"

#include <memory>
#include <vector>

namespace headlight::corpus {

/// Texts and chunks that follow one another: a file of the folder texts.
struct TextPart {
    std::vector<Text> texts;
    std::vector<Chunk>
        chunks;  ///< `number` and `text` count from 0 in the part; tokens have ids alone until a tokenizer names them
    std::int64_t tokens() const noexcept;
};
Arrays arrays_of(const TextPart&);
/// Error naming the file where it is damaged.
TextPart part_of(const Arrays&, const std::filesystem::path& file);
/// Of what a run reads of a chunk: its numbers in the store, its tokens, and the words of its text.
std::uint64_t chunk_hash(const Chunk&, const Text&);

/// Reads texts and chunks by their numbers, a part at a time.
class TextStore {
public:
    /// `tokenizer`: names the tokens of chunks; nullptr: they stay without names.
    TextStore(std::filesystem::path store, const Manifest&, const headlight::text::Tokenizer* tokenizer = nullptr);
    std::int64_t texts() const noexcept { return first_text_.back(); }
    std::int64_t chunks() const noexcept { return first_chunk_.back(); }
    /// The references hold until another part is read. Errors: a part that is missing, damaged, or not the one of the manifest.
    const Text& text(std::int64_t number);
    const Chunk& chunk(std::int64_t number);
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
    bool append = false;     ///< behind those of the store; otherwise these are the first of the texts to add, and are compared
};
/// Reads and cuts texts into the store, part by part; the manifest is written behind each. What is there stays. Texts to append
/// that begin with all of the last addition's are that addition given again: what is new of them comes behind it. Returns how
/// many texts are new. Errors: those of read_texts(), other texts than the store's.
std::int64_t add_texts(const std::filesystem::path& store, Manifest&, const headlight::text::Tokenizer&, const AddTexts&,
                       const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::corpus
