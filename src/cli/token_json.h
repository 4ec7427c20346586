// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/text/encoding.h"

#include <string>

namespace headlight::cli {

/// {"ids":[…],"tokens":[…],"offsets":[[begin,end],…],"special":[…],"words":[…]}: the contract of `tokenize --json`, and
/// the value of "tokens" in the metadata of `trace`. A pair adds "sequences": 0, 1, or null for special tokens.
std::string token_json(const text::Encoding&);

}  // namespace headlight::cli
