// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/model.h"
#include "headlight/model/picture.h"
#include "headlight/text/tokenizer.h"

namespace headlight::trace {

/// What a model reads of a picture: a token for each row of its stream, named by its tokenizer, and the pixels. Errors: those of
/// model::prepare(); a tokenizer of another model.
text::Encoding picture_encoding(const model::Model&, const text::Tokenizer&, const model::Picture&);

}  // namespace headlight::trace
