// SPDX-License-Identifier: GPL-3.0-or-later
// The tokens of a text whose tokenizer is not there.
#pragma once

#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::trace {

struct SavedText {
    text::Encoding encoding;
    std::string text, pair;
};

/// From `tokens` and what else a file may say of them. Where nothing is said: the same string is the same id, [NAME]
/// and <name> are special, words begin where the vocabulary's way of writing says so ("Ġthe", "▁the", no "##"), and the
/// text is the tokens behind each other.
struct TokenStrings {
    std::vector<std::string> tokens;
    std::optional<std::vector<std::int64_t>> ids;
    std::optional<std::vector<bool>> special;
    std::int64_t sentence_b_start = -1;  ///< -1: one sentence
    std::string text;
};
SavedText text_of(const TokenStrings&, const std::filesystem::path& file);

/// From the JSON that `headlight trace` writes beside its tensors. Error names the field.
SavedText text_of_trace(const std::string& tokens_json, std::string text, std::string pair, const std::filesystem::path& file);

/// A tokenizer that knows the strings of these tokens and no others: for labels and for searching, not for encoding.
/// What it does not know is `unknown`; empty: its first entry. Error when an id stands for two strings.
std::shared_ptr<const text::Tokenizer> tokenizer_of(const text::Encoding&, const std::filesystem::path& file,
                                                    const std::string& unknown = {});

}  // namespace headlight::trace
