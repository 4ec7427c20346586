// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/text_list.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"

namespace headlight::cli {
namespace {

constexpr std::size_t kLongestList = 1u << 30;

}  // namespace

void TextList::add(Definition& definition, const TextArguments& single) {
    option = definition.app->add_option("--texts", path, "several texts, one a line; means over them")
                 ->type_name("FILE")
                 ->excludes(single.text_option)
                 ->excludes(single.file_option)
                 ->excludes(single.pair_option);
    definition.kinds[option] = ValueKind::file;
}

std::vector<TextList::Line> TextList::lines() const {
    const std::string all = io::read_text(path, kLongestList);
    std::vector<Line> lines;
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
        throw Error(ErrorFacts{.problem = "there is no text in the list",
                               .file = path,
                               .expected = "one text a line",
                               .found = "blank lines only"});
    return lines;
}

void TextList::naming(const Line& line, const std::function<void()>& work) const {
    try {
        work();
    } catch (const Error& error) {
        ErrorFacts facts = error.facts();
        facts.file = path;
        facts.item = "line " + std::to_string(line.number) + (facts.item.empty() ? "" : ", " + facts.item);
        throw Error(facts);
    }
}

}  // namespace headlight::cli
