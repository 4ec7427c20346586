// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/probe/labels.h"

namespace headlight::corpus {

/// A stretch of a text's bytes.
struct Bytes {
    std::int64_t begin = 0, end = 0;
};

/// Tokens whose bytes overlap the span; none if it is not wholly in the chunk, or belongs to the chunk before it.
TokenSpan tokens_of(const Bytes& span, const Chunk&);

}  // namespace headlight::corpus
