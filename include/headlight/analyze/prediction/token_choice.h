// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace headlight::analyze {

/// One vocabulary entry that a person named.
struct TokenChoice {
    std::int64_t id = 0;
    std::string label;  ///< "·she"
    std::string note;   ///< how a string was understood: "\"she\" is taken as ·she (88), with a leading space"; may be empty
    std::int64_t other = -1;  ///< the token that the text is with a leading space, where `id` is that without one; -1: none
};

/// What digits alone are: an id, where a person types a token; text, in files, whose texts are never ids.
enum class Digits { id, text };

/// `typed` is an id (digits only), text that is one token as the tokenizer writes it (first as typed, then with a space before
/// it), a vocabulary string ("Ġshe", "##ing"), or a token's name in figures ("·she", "<0xE2>"). Errors: an id outside the
/// vocabulary; a text of several tokens, with the ids of its parts; nothing typed. `option` is named in them.
TokenChoice choose_token(const text::Tokenizer&, std::int64_t vocab_size, std::string_view typed, const std::string& option = {},
                         Digits = Digits::id);

}  // namespace headlight::analyze
