// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/files/json_fields.h"
#include "text/models/vocab.h"
#include "text/models/word_cache.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

/// Splits one word into vocabulary entries. Const and free of state.
class Model {
public:
    virtual ~Model() = default;
    /// Adds the tokens of `word` to `out`. With `bytes` the word's bytes are to be read in the byte-level alphabet.
    virtual void split(std::string_view word, bool bytes, std::vector<WordToken>& out) const = 0;
    /// Whether split() takes `bytes`; otherwise the alphabet is written out before.
    virtual bool reads_bytes() const noexcept { return false; }
    virtual const Vocab& vocab() const noexcept = 0;
    virtual std::string name() const = 0;                    ///< "BPE", "WordPiece"
    virtual std::string continuation() const { return ""; }  ///< mark of a piece inside a word: "##"
    virtual bool byte_fallback() const noexcept { return false; }
};

using ModelPtr = std::unique_ptr<const Model>;

/// Builds what the value of the key "model" describes; Error for a type that is not known.
ModelPtr make_model(const Field&);

ModelPtr make_bpe(const Field&);
ModelPtr make_word_piece(const Field&);
ModelPtr make_word_level(const Field&);
ModelPtr make_unigram(const Field&);

}  // namespace headlight::text
