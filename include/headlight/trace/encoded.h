// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/trace.h"

#include <cstdint>
#include <memory>
#include <string>

namespace headlight::trace {

/// A text whose tokens are known: a part of a longer one keeps the tokens that it has there.
struct EncodedText {
    std::string text;
    text::Encoding encoding;         ///< offsets are in `text`
    std::int64_t first_counted = 0;  ///< queries before it are context alone: they are in none of the overview's numbers
};

/// run() of it, for models of one stack that read text. Errors as there.
std::shared_ptr<const Trace> run_encoded(std::shared_ptr<const model::Model>, std::shared_ptr<const text::Tokenizer>, EncodedText,
                                         const CapturePlan&, const CancelToken& = {});

}  // namespace headlight::trace
