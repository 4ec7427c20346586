// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/trace.h"

#include <cstdint>
#include <vector>

namespace headlight::map {

/// The pictures whose patches are the tokens of a map. Tokens from `class_tokens` on are patches, row by row.
struct MapPictures {
    std::int64_t rows = 0, columns = 0, class_tokens = 0;
    std::vector<trace::PictureShown> shown{};  ///< [text]
};

}  // namespace headlight::map
