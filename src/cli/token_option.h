// SPDX-License-Identifier: GPL-3.0-or-later
// Options that name a token: an id, or text that is one token.
#pragma once

#include "cli/console.h"
#include "headlight/analyze/prediction/outputs.h"

#include <cstdint>
#include <string>

namespace headlight::cli {

/// The id of a typed token; a note says how a text was understood, and what it is with a space before it.
inline std::int64_t typed_token(const text::Tokenizer& tokenizer, std::int64_t vocab_size, const std::string& typed,
                                const std::string& option, const Console& console) {
    const analyze::TokenChoice choice = analyze::choose_token(tokenizer, vocab_size, typed, option);
    if (!choice.note.empty()) console.note(option + ": " + choice.note);
    return choice.id;
}

/// The same of a column of the logits: a token, or a class.
inline std::int64_t typed_output(const model::ModelConfig& config, const text::Tokenizer& tokenizer, const std::string& typed,
                                 const std::string& option, const Console& console) {
    const analyze::TokenChoice choice = analyze::choose_output(config, tokenizer, typed, option);
    if (!choice.note.empty()) console.note(option + ": " + choice.note);
    return choice.id;
}

/// "507 ·old", "2 POSITIVE"
inline std::string output_fact(const model::ModelConfig& config, const text::Tokenizer& tokenizer, std::int64_t id) {
    return std::to_string(id) + " " + analyze::output_label(config, tokenizer, id);
}

}  // namespace headlight::cli
