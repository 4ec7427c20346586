// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::intervention {

/// A place of a text in a file of pairs: token positions, or words that occur once in it (of a picture the name of a patch).
struct PlaceText {
    std::vector<std::int64_t> positions{};
    std::string words{};  ///< in place of positions
    bool empty() const noexcept { return positions.empty() && words.empty(); }
};

}  // namespace headlight::intervention
