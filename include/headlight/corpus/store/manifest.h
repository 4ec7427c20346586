// SPDX-License-Identifier: GPL-3.0-or-later
// The description of a store: manifest.json. docs/corpus.md describes the folder.
#pragma once

#include "headlight/corpus/reading/read_texts.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headlight::corpus {

/// Fixed when the store is made.
struct StoreOptions {
    ReadOptions reading;
    std::int64_t context = 0;           ///< maximum tokens of a chunk
    std::int64_t stride = 0;            ///< tokens from the start of one chunk to the next
    std::int64_t block = 64;            ///< chunks that are finished together
    std::uint64_t seed = 0;             ///< of samples
    std::vector<std::string> measures;  ///< ids of accumulator_kinds(), in their order
};

/// "texts/0003.safetensors", of the fourth part.
std::string part_name(std::size_t index);
/// A file with texts and their tokens.
struct StorePart {
    std::string file;
    std::string sha256;
    std::int64_t texts = 0, chunks = 0, tokens = 0;
};

/// Texts that one command added to the store, after those already there.
struct Addition {
    std::string from;                  ///< as it was given
    std::int64_t first_text = 0;       ///< number of its first text in the store
    std::int64_t left_out_before = 0;  ///< texts that were left out until then
    bool complete = false;             ///< they were read to the end, or to the limit
};

struct Manifest {
    std::string program;                                                          ///< version that made it
    std::string model, model_path, model_hash, tokenizer, tokenizer_hash, dtype;  ///< path: absolute, of the files that were read
    StoreOptions options{};
    bool treebank = false;  ///< texts have words
    bool mentions = false;  ///< texts have mentions
    std::vector<StorePart> parts{};
    std::vector<Addition> additions{};
    /// [block] sum of a hash of each of its chunks (chunk_hash(), mod 2^64), which identifies the texts behind a block's
    /// results. The same for any division into parts.
    std::vector<std::uint64_t> block_hashes{};
    std::map<std::string, std::int64_t> left_out{};  ///< reason -> how many texts ("not UTF-8 (byte 12)" without the byte)
    std::vector<LeftOut> left_out_list{};            ///< the first 1,000
    std::map<std::string, std::int64_t> noted{};     ///< what was made of texts that are run (Text::notes) -> how many
    std::vector<TextNote> notes{};                   ///< the first 20 of each

    std::int64_t texts() const noexcept;
    std::int64_t chunks() const noexcept;
    std::int64_t tokens() const noexcept;
    std::int64_t left_out_texts() const noexcept;
    std::int64_t blocks() const noexcept { return (chunks() + options.block - 1) / options.block; }
    std::int64_t chunks_of(std::int64_t block) const noexcept;
    std::int64_t chunks_of(const std::vector<std::int64_t>& blocks) const noexcept;
    /// Of the chunks of these blocks together, 16 hexadecimal digits.
    std::string hash_of(const std::vector<std::int64_t>& blocks) const;
    std::string measures_text() const;  ///< "heads,neurons"
    bool texts_complete() const noexcept { return additions.empty() || additions.back().complete; }
    void leave_out(LeftOut);
    void note(TextNote);
};

/// Errors: no store there, another version, a damaged file, a field that is missing or has the wrong type, numbers that do not
/// fit each other.
Manifest read_manifest(const std::filesystem::path& store);
bool is_store(const std::filesystem::path&);
void write_manifest(const std::filesystem::path& store, const Manifest&);

}  // namespace headlight::corpus
