// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace headlight::io {

/// 30081024 -> "30,081,024 bytes". Of a damaged file it may be any number.
inline std::string bytes_text(std::uint64_t n) {
    std::string digits = std::to_string(n);
    for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
    return digits + (n == 1 ? " byte" : " bytes");
}

}  // namespace headlight::io
