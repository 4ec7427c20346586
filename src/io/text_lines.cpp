// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/text_lines.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"

#include <algorithm>

namespace headlight::io {
namespace {

constexpr std::size_t kLongestList = 1u << 30;

}  // namespace

std::vector<TextLine> read_text_lines(const std::filesystem::path& path) {
    const std::string all = read_text(path, kLongestList);
    std::vector<TextLine> lines;
    std::int64_t number = 0;
    for (std::size_t at = 0; at < all.size();) {
        const std::size_t end = std::min(all.find('\n', at), all.size());
        std::string text = all.substr(at, end - at);
        if (!text.empty() && text.back() == '\r') text.pop_back();
        ++number;
        if (text.find_first_not_of(" \t") != std::string::npos) lines.push_back({number, std::move(text)});
        at = end + 1;
    }
    if (lines.empty())
        throw Error(ErrorFacts{.problem = "There is no text in the list",
                               .file = path.string(),
                               .expected = "one text a line",
                               .found = "blank lines only"});
    return lines;
}

}  // namespace headlight::io
