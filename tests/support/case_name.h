// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace headlight::test {

/// The name of a case of a parameterised test: letters and digits of the parameter, "_" for everything else.
inline std::string case_name(std::string parameter) {
    std::ranges::replace_if(
        parameter, [](unsigned char c) { return !std::isalnum(c); }, '_');
    return parameter;
}

}  // namespace headlight::test
