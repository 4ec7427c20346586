// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/json_number.h"

#include <charconv>
#include <cmath>

namespace headlight {

std::string json_number(double value) {
    if (!std::isfinite(value)) return "null";
    char text[40];
    const auto narrow = static_cast<float>(value);
    const auto end = static_cast<double>(narrow) == value ? std::to_chars(text, text + sizeof text, narrow).ptr
                                                          : std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

}  // namespace headlight
