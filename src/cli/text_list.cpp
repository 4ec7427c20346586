// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/text_list.h"

#include "headlight/base/error.h"

namespace headlight::cli {

void TextList::add(Definition& definition, const TextArguments& single) {
    add_beside(definition, single, "several texts, one a line; means over them");
    option->excludes(single.text_option)->excludes(single.file_option);
}

void TextList::add_beside(Definition& definition, const TextArguments& single, const std::string& help) {
    option = add_path(definition, "--texts", path, help)->excludes(single.pair_option);
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
