// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace headlight::text {

/// The pre-tokenizer that a name in tokenizer.ggml.pre means: llama.cpp stores that of a byte-level BPE as one word.
struct GgufPreType {
    nlohmann::json normalizer;
    nlohmann::json pre_tokenizer;
    bool ignore_merges = false;
    bool begins = false;  ///< a text begins with the bos token unless the file says otherwise
};

/// Nothing for a word that is not known.
std::optional<GgufPreType> gguf_pre_type(std::string_view name);
/// "default, gpt-2, …", for messages.
std::string gguf_pre_type_names();

}  // namespace headlight::text
