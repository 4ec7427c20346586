// SPDX-License-Identifier: GPL-3.0-or-later
// What AutoTokenizer of transformers 5 takes from the files beside a tokenizer: tokens of added_tokens.json,
// tokenizer_config.json and special_tokens_map.json, and the options that replace those of a tokenizer.json.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>

namespace headlight::text {

/// Adds to `tokenizer`, the content of a tokenizer.json, the tokens that the folder's other files have. A token of the
/// vocabulary has its id there, every other one the next free id, whatever number a file gives it: as in transformers.
/// `as_typed`: all of them are looked for in the text as typed (SentencePiece, where a text begins after each).
void add_tokens_beside(nlohmann::json& tokenizer, const std::filesystem::path& folder, bool as_typed);

/// Applies do_lower_case, strip_accents, tokenize_chinese_chars (BERT's classes) and add_prefix_space (GPT-2's and RoBERTa's) of
/// tokenizer_config.json to `tokenizer`, the content of the folder's tokenizer.json. Where the file does not have them, the
/// class's defaults count.
void apply_options_beside(nlohmann::json& tokenizer, const std::filesystem::path& folder);

}  // namespace headlight::text
