// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/text/tokenizer.h"

#include <cstdint>
#include <string_view>

namespace headlight::text {

/// The token a person means by what was typed: digits are an id, then a vocabulary string ("Ġthe"), then a text that is
/// one token ("ing", " the"), then a word that is one token behind a space ("the" for " the").
/// Error for an id outside the vocabulary (`vocab_size` of the model), and for a text of several tokens: their ids and
/// labels are named.
std::int64_t single_token(const Tokenizer&, std::string_view typed, std::int64_t vocab_size);

}  // namespace headlight::text
