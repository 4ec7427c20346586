// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/text/encoding.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

/// Bytes. No model reads millions of tokens, and each takes about 500 bytes on the way.
inline constexpr std::size_t kLongestText = std::size_t{10} << 20;

/// A tokenizer as Hugging Face `tokenizers` defines it: added tokens, normalizer, pre-tokenizer, model, post-processor.
/// Thread-safe: encode() is const and keeps no state but a cache after a lock.
class Tokenizer {
public:
    /// From a model folder: tokenizer.json, else vocab.txt (WordPiece, with tokenizer_config.json's do_lower_case …),
    /// else vocab.json + merges.txt (byte-level BPE). Errors name file and field.
    static std::shared_ptr<const Tokenizer> load(const std::filesystem::path& model_folder);
    static std::shared_ptr<const Tokenizer> from_json_file(const std::filesystem::path& tokenizer_json);
    /// The same of a text in memory; `file` is only named in errors.
    static std::shared_ptr<const Tokenizer> from_json_text(std::string_view json, const std::filesystem::path& file);

    ~Tokenizer();
    Tokenizer(const Tokenizer&) = delete;
    Tokenizer& operator=(const Tokenizer&) = delete;

    /// `text` must be UTF-8 (Error with the byte offset otherwise). `pair` is sentence B.
    Encoding encode(std::string_view text, std::optional<std::string_view> pair = std::nullopt,
                    bool add_special_tokens = true) const;
    /// Token ids instead of a text, for probes of random tokens: what a template adds comes around them, offsets are
    /// {0, 0}, every token is its own word. Error for an id without a string, with its place.
    Encoding encode_ids(const std::vector<std::int64_t>& ids, bool add_special_tokens = true) const;

    std::int64_t vocab_size() const noexcept;  ///< with added tokens: highest id + 1
    std::optional<std::int64_t> id_of(std::string_view token) const;
    /// Vocabulary string of an id; empty for an unknown id.
    const std::string& token_of(std::int64_t id) const;
    bool is_special(std::int64_t id) const;
    /// The bytes of a token in running text (" the" for "Ġthe", "ing" for "##ing").
    std::string bytes_of(std::int64_t id) const;
    /// `<mask>` / `[MASK]` id if there is one.
    std::optional<std::int64_t> mask_id() const;

    /// A description: "byte-level BPE, 8192 entries".
    std::string description() const;

private:
    Tokenizer();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Which tokens are punctuation, without the white space at their ends. Special tokens never are.
struct Punctuation {
    std::vector<bool> period_or_comma;  ///< "." or ",": what Clark et al. 2019 count
    std::vector<bool> any;              ///< nothing but characters of Unicode's category P
};
Punctuation punctuation(const Tokenizer&, const Encoding&);

/// The label to show for one token: "·the", "⏎", "ing" + continuation mark.
struct TokenLabel {
    std::string text;  ///< UTF-8, never empty, printable: '·' for a leading space, '⏎' newline, '⇥' tab, <0xE2> for a byte alone
    std::string continuation;     ///< "##" to draw faintly before text, or empty
    bool special = false;         ///< <s>, [CLS]: drawn muted
    std::int64_t join_first = 0;  ///< bytes of one character spread over tokens are joined: first position of the group …
    std::int64_t join_count = 1;  ///< … and how many tokens it has; the label stands at the first, the others show "⋯"
};

/// Labels for a whole encoding (needs neighbours: byte pieces of one character are joined).
std::vector<TokenLabel> token_labels(const Tokenizer&, const Encoding&);
/// A label of one vocabulary entry alone (candidate lists).
std::string token_label(const Tokenizer&, std::int64_t id);

}  // namespace headlight::text
