// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/text/tokenizer.h"
#include "text/added_tokens.h"
#include "text/models/model.h"
#include "text/models/word_cache.h"
#include "text/normalizers/normalizer.h"
#include "text/post_processors/post_processor.h"
#include "text/pre_tokenizers/pre_tokenizer.h"

#include <mutex>

namespace headlight::text {

struct Tokenizer::Impl {
    explicit Impl(const Field& root);

    const std::string& token_of(std::int64_t id) const;
    /// Tokens of one sentence, offsets into `typed`.
    Segment encode_sentence(std::string_view typed, std::int64_t sequence, WordCache&) const;
    /// Adds the template around the sentences and returns one encoding.
    Encoding assemble(std::vector<Segment>, bool add_special_tokens) const;
    void encode_section(Section&&, WordCache&, std::int32_t& word, Segment& out) const;

    std::string file;
    NormalizerPtr normalizer;
    PreTokenizerPtr pre_tokenizer;
    ModelPtr model;
    std::unique_ptr<const AddedTokens> added;
    PostProcessorPtr post_processor;
    VocabView view;
    bool byte_level = false;  ///< vocabulary strings are in the byte-level alphabet
    bool metaspace = false;   ///< "▁" in vocabulary strings stands for a space
    std::int64_t vocab_size = 0;
    /// Marian: the tokenizer of the second text, the target; null: the same.
    std::unique_ptr<const Impl> target;

    mutable std::mutex cache_mutex;
    mutable WordCache cache;
};

/// The content of a tokenizer.json for a folder that has only vocab.txt, or vocab.json and merges.txt.
/// `file`: set to the file that errors name.
nlohmann::json json_from_vocab_files(const std::filesystem::path& folder, std::string& file);
/// The same for SentencePiece's own file, spiece.model or tokenizer.model.
nlohmann::json json_from_sentence_piece(const std::filesystem::path& file);
/// The same for one of Marian's two files (source.spm, target.spm), numbered by the vocab.json beside it.
nlohmann::json json_from_marian(const std::filesystem::path& file);
/// The same for Mistral's own file, tekken.json.
nlohmann::json json_from_tekken(const std::filesystem::path& file);
/// The same for the vocabulary inside a GGUF file.
nlohmann::json json_from_gguf(const std::filesystem::path& file);

}  // namespace headlight::text
