// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/text/tokenizer.h"

#include <string>
#include <vector>

namespace headlight::text {

/// Sentences about a text that the model reads otherwise than its author may think: more than a fifth of its tokens are unknown
/// ones, or it was typed with the token that the tokenizer puts in front by itself. Most texts have none.
std::vector<std::string> notes_on(const Tokenizer&, const Encoding&);

}  // namespace headlight::text
