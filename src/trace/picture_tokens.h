// SPDX-License-Identifier: GPL-3.0-or-later
// Patches as tokens.
#pragma once

#include "headlight/model/config.h"
#include "headlight/text/tokenizer.h"

#include <memory>
#include <vector>

namespace headlight::trace {

/// Classes by their ids, then [CLS], [DIST] and "r1c1" …; rows and columns are counted from 1. A class whose name another
/// entry has carries its id.
std::shared_ptr<const text::Tokenizer> picture_tokenizer(const model::ModelConfig&);

/// One token for each row of the stream.
text::Encoding picture_encoding(const model::ModelConfig&, const text::Tokenizer&, std::vector<float> pixels);

}  // namespace headlight::trace
