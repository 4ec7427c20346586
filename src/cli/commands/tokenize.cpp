// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"
#include "cli/options.h"
#include "cli/token_json.h"
#include "headlight/base/error.h"
#include "headlight/model/locate.h"
#include "headlight/text/notes.h"
#include "headlight/text/tokenizer.h"

#include <algorithm>

namespace headlight::cli {
namespace {

struct TokenizeArguments {
    ModelArgument model;
    TextArguments text;
    bool json = false;
    bool no_special = false;
};

/// One line for each token: position, id, bytes, string.
std::string table(const text::Tokenizer& tokenizer, const text::Encoding& encoding) {
    const std::vector<text::TokenLabel> labels = text::token_labels(tokenizer, encoding);
    std::string out = "position\tid\tbytes\ttoken\n";
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const text::ByteRange range = encoding.offsets[i];
        const std::string bytes = encoding.special[i] ? "-" : std::to_string(range.begin) + "-" + std::to_string(range.end);
        out += std::to_string(i) + "\t" + std::to_string(encoding.ids[i]) + "\t" + bytes + "\t" + labels[i].continuation +
               labels[i].text + "\n";
    }
    return out;
}

int tokenize(const TokenizeArguments& options, const Console& console) {
    options.text.require();
    const std::string typed = options.text.text();
    const std::string pair = options.text.pair();
    const auto tokenizer = text::Tokenizer::load(model::without_tower(options.model.folder()));
    const std::string text = options.text.as_model_text(typed, *tokenizer);
    const text::Encoding encoding = tokenizer->encode(
        text, options.text.has_pair() ? std::optional<std::string_view>(pair) : std::nullopt, !options.no_special);
    if (options.json) {
        console.result(token_json(encoding) + "\n");
    } else {
        console.result(table(*tokenizer, encoding));
        console.note(std::to_string(encoding.size()) + " tokens, " + tokenizer->description());
    }
    for (const std::string& note : text::notes_on(*tokenizer, encoding)) console.note(note);
    return 0;
}

}  // namespace

Action define_tokenize(Definition& definition, const Frontend&) {
    auto options = std::make_shared<TokenizeArguments>();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_chat(definition);
    definition.app->add_flag("--json", options->json, "one JSON object: ids, tokens, offsets, special, words");
    definition.app->add_flag("--no-special-tokens", options->no_special, "leave out what the model's template adds");
    return [options, console = definition.console] { return tokenize(*options, *console); };
}

}  // namespace headlight::cli
