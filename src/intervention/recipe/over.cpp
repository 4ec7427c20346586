// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/recipe/over.h"

#include "headlight/base/error.h"
#include "headlight/corpus/reading/read_texts.h"
#include "headlight/io/text_lines.h"

namespace headlight::intervention {

std::vector<std::string> texts_of_file(const std::filesystem::path& file, const model::ModelConfig& c,
                                       const CancelToken& cancel) {
    std::vector<std::string> texts;
    if (model::reads_pictures(c)) {
        for (const io::TextLine& line : io::read_text_lines(file)) texts.push_back((file.parent_path() / line.text).string());
        return texts;
    }
    corpus::read_texts(
        file, {},
        [&](corpus::Text&& text) {
            texts.push_back(std::move(text.text));
            return true;
        },
        [](const corpus::LeftOut&) {}, cancel);
    if (texts.empty()) throw Error(ErrorFacts{.problem = "The file has no text", .file = file.string()});
    return texts;
}

}  // namespace headlight::intervention
