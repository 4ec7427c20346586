// SPDX-License-Identifier: GPL-3.0-or-later
// Options that name a token: an id, or text that is one token.
#pragma once

#include "cli/console.h"
#include "headlight/analyze/prediction/token_choice.h"

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

/// "507 ·old"
inline std::string token_fact(const text::Tokenizer& tokenizer, std::int64_t id) {
    return std::to_string(id) + " " + text::token_label(tokenizer, id);
}

}  // namespace headlight::cli
