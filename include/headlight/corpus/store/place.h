// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/reading/text.h"
#include "headlight/corpus/store/chunks.h"

#include <cstdint>
#include <string>

namespace headlight::corpus {

/// A token of a chunk in the text around it.
struct Place {
    std::string before, token, after;
    bool cut_before = false, cut_after = false;  ///< the chunk continues there
};
/// With up to this many bytes on either side, in whole characters. `position` is one of the chunk's tokens.
Place place_in(const Chunk&, const Text&, std::int64_t position, std::int64_t bytes_before, std::int64_t bytes_after);

}  // namespace headlight::corpus
