// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/texts.h"

#include "headlight/base/error.h"

namespace headlight::trace {

std::vector<std::shared_ptr<const Trace>> run_texts(std::shared_ptr<const model::Model> model,
                                                    std::shared_ptr<const text::Tokenizer> tokenizer,
                                                    const std::vector<io::TextLine>& lines, const std::filesystem::path& file,
                                                    const CancelToken& cancel, const Progress& progress) {
    std::vector<std::shared_ptr<const Trace>> traces;
    for (const io::TextLine& line : lines) {
        cancel.throw_if_cancelled();
        const auto done = static_cast<std::int64_t>(traces.size());
        if (progress) progress({"Running texts", "text", done, static_cast<std::int64_t>(lines.size())});
        try {
            traces.push_back(run(model, tokenizer, {.text = line.text}, {}, cancel, {}));
        } catch (const Error& error) {
            ErrorFacts facts = error.facts();
            facts.file = file.string();
            facts.item = "line " + std::to_string(line.number) + (facts.item.empty() ? "" : ", " + facts.item);
            throw Error(facts);
        }
    }
    return traces;
}

}  // namespace headlight::trace
