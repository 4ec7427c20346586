// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/reading/text.h"
#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::corpus {

/// A stretch of a text that the model reads in one pass.
struct Chunk {
    std::int64_t number = 0;       ///< in the store
    std::int64_t text = 0;         ///< number of its text in the store
    std::int64_t first_byte = 0;   ///< of the text; offsets of the encoding count from here
    std::int64_t end_byte = 0;     ///< of the text
    std::int64_t first_query = 0;  ///< tokens before it are only context: an earlier chunk has counted them
    bool begins = true;            ///< it is the first one of its text
    bool whole = true;             ///< it is the only one
    headlight::text::Encoding encoding;
};
/// The chunk's bytes of its text.
std::string bytes_of(const Chunk&, const Text&);

/// Cuts a text into chunks of at most `context` tokens. Each gets the special tokens of the tokenizer's template; the text is
/// tokenized as a whole. A later chunk begins `stride` tokens after the previous one: the tokens they share are its context. A
/// chunk never spans two texts.
class Chunker {
public:
    /// `stride` 0: chunks share nothing. Error if the template leaves no room in the context, or the stride is longer than that
    /// room.
    Chunker(const headlight::text::Tokenizer&, std::int64_t context, std::int64_t stride);
    /// Numbers count from 0.
    std::vector<Chunk> chunks(const Text&) const;
    std::int64_t stride() const noexcept { return stride_; }

private:
    const headlight::text::Tokenizer& tokenizer_;
    std::int64_t context_, stride_;
};

}  // namespace headlight::corpus
