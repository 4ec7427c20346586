// SPDX-License-Identifier: GPL-3.0-or-later
// The words that describe an edited run, and the texts of the run before it.
#pragma once

#include "headlight/trace/trace.h"

#include <string>
#include <vector>

namespace headlight::trace {

/// The edits of the run in words (docs/recipe.md), in their order; empty: none. Of a part those of its run.
const std::vector<std::string>& edits_of(const Trace&);

/// Error for an edited run, where `what` makes passes of its own, which the edits would not be in.
void require_unedited(const Trace&, const std::string& what);

/// What the model reads of a prompt, before any run.
struct Encodings {
    text::Encoding own;     ///< of a picture its tokens without pixels; of an encoder-decoder model the target
    text::Encoding source;  ///< of an encoder-decoder model
};
Encodings encodings_of(const model::Model&, const text::Tokenizer&, const Prompt&);

}  // namespace headlight::trace
