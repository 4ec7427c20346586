// SPDX-License-Identifier: GPL-3.0-or-later
// A list of texts: one a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headlight::io {

struct TextLine {
    std::int64_t number = 0;  ///< in the file, from 1
    std::string text;
};

/// Every line that is not blank, without its end. Errors: no such file, no text in it.
std::vector<TextLine> read_text_lines(const std::filesystem::path&);

}  // namespace headlight::io
