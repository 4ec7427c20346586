// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/foreign.h"

#include "headlight/base/error.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace headlight::io {

void refuse_foreign(std::string_view begin, const std::filesystem::path& file) {
    constexpr std::size_t kRead = 64;
    std::string text(begin.substr(0, kRead));
    text.erase(0, text.find_first_not_of(" \t\r\n"));
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (text.starts_with("version https://git-lfs"))
        throw Error(ErrorFacts{.problem = "A pointer of Git LFS, not the file itself",
                               .file = file.string(),
                               .hint = "Run git lfs pull in its folder, or download the file from the model's page"});
    if (text.starts_with("<!doctype html") || text.starts_with("<html"))
        throw Error(
            ErrorFacts{.problem = "A web page that was saved under the file's name",
                       .file = file.string(),
                       .hint = "Download the file itself: a hub's links to files have /resolve/ in them, those to pages /blob/"});
}

}  // namespace headlight::io
