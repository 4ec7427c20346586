// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/options.h"

#include "cli/memory_option.h"
#include "headlight/base/error.h"
#include "headlight/base/index_list.h"
#include "headlight/base/memory.h"
#include "headlight/base/nearest.h"
#include "headlight/base/working_for.h"
#include "headlight/intervention/recipe/recipe_file.h"
#include "headlight/intervention/recipe/words.h"
#include "headlight/io/json_file.h"
#include "headlight/model/locate.h"
#include "headlight/text/chat.h"
#include "headlight/trace/saved.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <system_error>

namespace headlight::cli {
namespace {

std::string read_standard_input() {
    std::string text;
    char buffer[1 << 16];
    for (;;) {
        WorkingFor::token().throw_if_cancelled();
        struct pollfd input {
            .fd = STDIN_FILENO, .events = POLLIN, .revents = 0
        };
        constexpr int kMilliseconds = 200;  // an interrupt between the check and the wait is seen then
        // After a signal too: the wait ends, and reading would go on waiting.
        if (const int ready = ::poll(&input, 1, kMilliseconds); ready == 0 || (ready < 0 && errno == EINTR)) continue;
        const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (got == 0) return text;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            throw Error(ErrorFacts{.problem = "Cannot read standard input", .found = std::generic_category().message(errno)});
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > text::kLongestText)
            throw Error(ErrorFacts{.problem = "The text on standard input is too long",
                                   .expected = "at most " + std::to_string(text::kLongestText >> 20) + " MiB"});
    }
}

}  // namespace

CLI::Option* Definition::add_choice(const std::string& flag, std::string& value, std::vector<std::string> words,
                                    const std::string& help) {
    CLI::Option* option = app->add_option(flag, value, help)->capture_default_str();
    restrict_to(option, std::move(words));
    return option;
}

CLI::Option* add_out(Definition& definition, std::string& path, const std::vector<std::string>& endings,
                     const std::string& without) {
    CLI::Option* option =
        add_path(definition, "--out", path, "the file to write: " + either_of(endings) + "; - is standard output" + without);
    definition.endings[option] = endings;
    definition.out = std::make_unique<Definition::Out>(&path);
    std::vector<std::string> formats;
    for (const std::string& ending : endings) formats.push_back(ending.substr(1));
    definition.add_choice("--format", definition.out->format, std::move(formats), "the format of --out -, standard output");
    return option;
}

void Definition::restrict_to(CLI::Option* option, std::vector<std::string> words, std::string_view prefix) {
    std::string type;
    for (const std::string& word : words) type += (type.empty() ? "" : "|") + word;
    option->type_name(type);
    option->check([words, prefix](const std::string& typed) -> std::string {
        const bool prefixed = !prefix.empty() && typed.starts_with(prefix);
        if (std::find(words.begin(), words.end(), typed.substr(prefixed ? prefix.size() : 0)) != words.end()) return {};
        const std::string near = nearest(typed, words);
        std::string message = "\"" + typed + "\" is not one of";
        for (const std::string& word : words) message += " " + word;
        if (!near.empty()) message += "; did you mean " + near + "?";
        return message;
    });
    choices[option] = std::move(words);
}

void ModelArgument::add(Definition& definition) {
    add_path(definition, "MODEL", typed,
             "a model folder, a .gguf file, a built-in name (novella-7m), or an id in the "
             "local Hugging Face cache (gpt2, org/name)",
             " ", ValueKind::model)
        ->required();
    CLI::Option* which = definition.app->add_option(
        "--tower", tower, "of a CLIP or SigLIP folder: which of its two models (default: text; SigLIP: vision)");
    definition.restrict_to(which, {std::string(model::kTextTower), std::string(model::kVisionTower)});
}

std::string ModelArgument::reference() const { return tower.empty() ? typed : model::with_tower(typed, tower).string(); }

std::filesystem::path ModelArgument::folder() const {
    if (trace::is_saved(typed))
        throw Error(ErrorFacts{
            .problem = "A saved trace without its model, which this command needs",
            .file = typed,
            .expected = "a model",
            .hint =
                "headlight info, headlight render, headlight analyze heads, headlight analyze detect and the window read a saved trace"});
    return model::locate_model(reference());
}

void TextArguments::add(Definition& definition) {
    text_option = add_value(definition, "--text", typed_text, "the text; - reads standard input", "TEXT");
    file_option = add_path(definition, "--text-file", text_file, "read the text from this file")->excludes(text_option);
    pair_option = add_value(definition, "--pair", typed_pair, "a second sentence", "TEXT");
}

void TextArguments::add_image(Definition& definition) {
    image_option = add_path(definition, "--image", image, "the picture, for models that read pictures: .png, .jpg")
                       ->excludes(text_option)
                       ->excludes(file_option)
                       ->excludes(pair_option);
}

void TextArguments::add_ids(Definition& definition) {
    ids_option = add_value(definition, "--ids", typed_ids,
                           "token ids in place of a text, \"5,17,3\" or a file of them; nothing is added to them", "IDS")
                     ->excludes(text_option)
                     ->excludes(file_option)
                     ->excludes(pair_option);
    if (image_option) ids_option->excludes(image_option);
}

std::vector<std::int64_t> TextArguments::ids() const {
    std::error_code none;
    const bool file = std::filesystem::is_regular_file(typed_ids, none);
    const std::string text = file ? io::read_text(typed_ids, text::kLongestText) : typed_ids;
    std::vector<std::int64_t> ids;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = text.find_first_not_of(" ,\t\r\n[]", at);
        if (begin == std::string::npos) break;
        const std::size_t end = std::min(text.find_first_of(" ,\t\r\n[]", begin), text.size());
        std::int64_t id = -1;
        const auto [last, error] = std::from_chars(text.data() + begin, text.data() + end, id);
        if (error != std::errc() || last != text.data() + end || id < 0)
            throw Error(ErrorFacts{.problem = "This is not a list of token ids",
                                   .file = file ? typed_ids : "",
                                   .item = file ? "number " + std::to_string(ids.size() + 1) : "--ids",
                                   .expected = "whole numbers from 0 on, with commas or spaces between them, or a file of them",
                                   .found = "'" + text.substr(begin, std::min<std::size_t>(end - begin, 40)) + "'"});
        ids.push_back(id);
        at = end;
    }
    if (ids.empty())
        throw Error(ErrorFacts{
            .problem = "There are no token ids", .file = file ? typed_ids : "", .item = "--ids", .hint = "Give at least one"});
    return ids;
}

void TextArguments::add_edits(Definition& definition) {
    add_value(definition, "--edit", typed_edits,
              "changes the run, may be given several times: \"zero L3H1\", \"knockout L3H1 END<-2\", \"scale L3.mlp 0.5\"",
              "WORDS")
        ->allow_extra_args(false);
    add_path(definition, "--recipe", recipe_file, "a file of edits, which come before those of --edit");
}

intervention::Recipe TextArguments::recipe() const {
    intervention::Recipe recipe;
    if (!recipe_file.empty()) recipe = intervention::read_recipe(recipe_file);
    for (const std::string& words : typed_edits) recipe.edits.push_back(intervention::parse_edit(words));
    return recipe;
}

void TextArguments::add_chat(Definition& definition) {
    CLI::Option* option = definition.app->add_option(
        "--chat", chat,
        "the text is a chat: lines \"user: …\", or a JSON list of role and content; formatted for models of this kind");
    definition.restrict_to(option, headlight::text::chat_presets());
    option->excludes(pair_option);
}

std::string TextArguments::as_model_text(const std::string& typed, const text::Tokenizer& tokenizer) const {
    return chat.empty() ? typed : headlight::text::chat_text(chat, headlight::text::parse_chat(typed), tokenizer);
}

void TextArguments::require() const {
    if (has_image() && image.empty())
        throw Error(ErrorFacts{.problem = "No picture is named", .item = "--image", .hint = "Give the path of a .png or .jpg"});
    if (given()) return;
    throw UsageError(
        ids_option
            ? "a text is needed: --text TEXT, --text - or --text-file FILE, or --ids; for models that read pictures --image FILE"
        : image_option ? "a text is needed: --text TEXT, --text - or --text-file FILE; for models that read pictures --image FILE"
                       : "a text is needed: --text TEXT, --text - or --text-file FILE");
}

std::string TextArguments::text() const {
    const bool from_file = file_option->count() > 0;
    const bool from_input = !from_file && typed_text == "-";
    std::string text = from_file ? io::read_text(text_file, text::kLongestText) : from_input ? read_standard_input() : typed_text;
    if (text.empty())
        throw Error(ErrorFacts{.problem = "There is nothing in the text",
                               .file = from_file ? text_file : "",
                               .item = from_file    ? ""
                                       : from_input ? "standard input"
                                                    : "--text",
                               .hint = "Give at least one character"});
    return text;
}

std::string TextArguments::pair() const {
    if (has_pair() && typed_pair.empty())
        throw Error(ErrorFacts{
            .problem = "There is nothing in the text", .item = "--pair", .hint = "Leave --pair out for a single text"});
    return typed_pair;
}

void add_memory(Definition& definition) {
    definition.app
        ->add_option_function<double>(
            "--memory", [](double gigabytes) { set_memory_budget(static_cast<std::int64_t>(gigabytes * 1e9)); },
            "memory for weights and traces, in GB; 0: half of what is free. Less is slower: weights and layers are computed as "
            "they are used")
        ->type_name("GB")
        ->check(CLI::Range(0.0, 1e6));
}

void ComputeOptions::add_type_and_device(Definition& definition) {
    definition.add_choice("--dtype", dtype, enum_words<model::ComputeType>(),
                          "the data type to compute in; float32-bf16: float32 with products in bfloat16");
    definition.add_choice("--device", device, {"auto", "cpu", "cuda"}, "the device to compute on");
}

void ComputeOptions::add(Definition& definition) {
    add_type_and_device(definition);
    add_value(definition, "--threads", threads, "threads to compute with; 0: one for each core", "N")->check(CLI::Range(0, 1024));
    add_memory(definition);
}

model::LoadOptions ComputeOptions::load() const { return {.dtype = *enum_value<model::ComputeType>(dtype), .device = device}; }

void refuse_unused(const CLI::App& app, std::initializer_list<UnusedOption> options) {
    for (const UnusedOption& option : options)
        if (option.unused && app.count(option.name) > 0) throw UsageError(std::string(option.name) + ": " + option.why);
}

std::vector<std::int64_t> parse_index_list(const std::string& text, const std::string& option) {
    try {
        return index_list(text);
    } catch (const Error& error) {
        throw UsageError(option + ": " + error.facts().problem);
    }
}

CLI::Validator counted_from_zero() {
    return CLI::Validator(
        [](std::string& typed) {
            std::int64_t number = -1;
            const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
            const bool whole = error == std::errc() && end == typed.data() + typed.size();
            return whole && number >= 0 ? std::string() : "expected a whole number from 0 on, found " + typed;
        },
        "");
}

CLI::Validator not_negative() {
    return CLI::Validator(
        [](std::string& typed) {
            double number = -1;
            const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
            const bool all = error == std::errc() && end == typed.data() + typed.size();
            return all && number >= 0 && std::isfinite(number) ? std::string() : "expected a number from 0 on, found " + typed;
        },
        "");
}

}  // namespace headlight::cli
