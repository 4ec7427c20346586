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
};

/// `typed` is an id (digits only), a vocabulary string ("Ġshe", "##ing"), or text that is one token as the tokenizer
/// writes it: first as typed, then with a space before it. Errors: an id outside the vocabulary; a text of several
/// tokens, with the ids of its parts; nothing typed. `option` is named in them.
TokenChoice choose_token(const text::Tokenizer&, std::int64_t vocab_size, std::string_view typed, const std::string& option = {});

}  // namespace headlight::analyze
