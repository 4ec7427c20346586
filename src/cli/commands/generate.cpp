// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"

#include "cli/fields.h"
#include "cli/options.h"
#include "cli/run_text.h"
#include "headlight/model/generate.h"
#include "headlight/text/notes.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

namespace headlight::cli {
namespace {

struct GenerateArguments {
    CLI::App* app = nullptr;
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    model::GenerateOptions generate;
    bool no_special = false;
    bool json = false;
};

std::string decoded(const text::Tokenizer& tokenizer, const std::vector<std::int64_t>& ids) {
    std::string bytes;
    for (const std::int64_t id : ids)
        if (!tokenizer.is_special(id)) bytes += tokenizer.bytes_of(id);
    return bytes;
}

/// The first new token that the edits changed; as many as both have: none.
std::size_t first_difference(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// Without and with the edits, the first differing token in brackets.
std::string side_by_side(const text::Tokenizer& tokenizer, const std::string& begun, const std::vector<std::int64_t>& usual,
                         const std::vector<std::int64_t>& edited) {
    const std::size_t at = first_difference(usual, edited);
    const auto marked = [&](const std::vector<std::int64_t>& ids) {
        if (at >= ids.size()) return begun + decoded(tokenizer, ids);
        const auto here = ids.begin() + static_cast<std::ptrdiff_t>(at);
        return begun + decoded(tokenizer, {ids.begin(), here}) + "[" + decoded(tokenizer, {here, here + 1}) + "]" +
               decoded(tokenizer, {here + 1, ids.end()});
    };
    return "unedited: " + marked(usual) + "\nedited:   " + marked(edited) + "\n";
}

nlohmann::ordered_json json_of(const text::Tokenizer& tokenizer, const std::vector<std::int64_t>& prompt,
                               const model::Generated& made) {
    nlohmann::ordered_json root;
    root["prompt"] = prompt;
    root["ids"] = made.ids;
    root["tokens"] = nlohmann::ordered_json::array();
    for (const std::int64_t id : made.ids) root["tokens"].push_back(tokenizer.token_of(id));
    root["probabilities"] = made.probabilities;
    root["text"] = decoded(tokenizer, made.ids);
    root["ended"] = made.ended;
    root["prompt_seconds"] = made.prompt_seconds;
    root["seconds"] = made.seconds;
    return root;
}

std::string dumped(const nlohmann::ordered_json& root) {
    return root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int run(const GenerateArguments& options, const Console& console) {
    require_relevant(*options.app, options.generate);
    const Loaded loaded = load_for_run(options.model, options.text, options.compute, console);
    const bool encodes = loaded.model->part(model::Stack::encoder) != nullptr;
    if (options.text.has_pair() && !encodes) throw UsageError("--pair: a continuation has one text");
    const text::Tokenizer& tokenizer = *loaded.tokenizer;
    model::GenerateOptions generate = options.generate;
    generate.end = model::end_tokens(loaded.model->folder());
    const text::Encoding encoded = tokenizer.encode(loaded.prompt.text, std::nullopt, !options.no_special);
    for (const std::string& note : text::notes_on(tokenizer, encoded)) console.note(note);
    auto prompt = encoded.ids;
    const std::string& begun = encodes ? loaded.prompt.pair : loaded.prompt.text;
    if (encodes) {  // the target is continued
        generate.source = std::move(prompt);
        prompt = trace::target_encoding(loaded.model->config(), tokenizer, begun).ids;
    }
    const model::Generated usual = model::generate(*loaded.model, prompt, generate, {}, loaded.cancel, console.progress());
    const bool edits = loaded.recipe.any();
    intervention::EditedContinuation edited;
    if (edits)
        edited =
            intervention::generate_under(*sources_of(loaded), loaded.recipe, prompt, generate, loaded.cancel, console.progress());
    console.clear_progress();
    const model::Generated& made = edits ? edited.made : usual;
    if (options.json) {
        nlohmann::ordered_json root = json_of(tokenizer, prompt, made);
        if (edits) {
            root["edits"] = edited.words;
            root["unedited"] = json_of(tokenizer, prompt, usual);
            root["first_difference"] = first_difference(usual.ids, made.ids);
        }
        console.result(dumped(root));
    } else {
        console.result(edits ? side_by_side(tokenizer, begun, usual.ids, made.ids) : begun + decoded(tokenizer, made.ids) + "\n");
    }
    for (const std::string& note : edited.notes) console.note(note);
    char line[160];
    const auto later = static_cast<double>(made.ids.size()) - 1;
    std::snprintf(line, sizeof line, "%zu tokens of prompt in %.2f s, %zu new tokens, %.1f tokens/s%s", prompt.size(),
                  made.prompt_seconds, made.ids.size(), made.seconds > 0 ? later / made.seconds : 0.0,
                  made.ended ? "; an end token came" : "");
    console.note(line);
    return 0;
}

}  // namespace

Action define_generate(Definition& definition, const Frontend&) {
    auto options = std::make_shared<GenerateArguments>();
    options->app = definition.app.get();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_chat(definition);
    options->text.add_edits(definition);
    options->compute.add(definition);
    CLI::App& app = *definition.app;
    add_fields(definition, options->generate);
    app.add_flag("--no-special-tokens", options->no_special, "leave out what the model's template adds to the prompt");
    app.add_flag("--json", options->json, "ids, tokens and probabilities as one JSON object");
    return [options, console = definition.console] { return run(*options, *console); };
}

}  // namespace headlight::cli
