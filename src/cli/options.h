// SPDX-License-Identifier: GPL-3.0-or-later
// Options that several commands share, defined once.
#pragma once

#include "cli/command.h"
#include "headlight/intervention/recipe/recipe.h"
#include "headlight/text/tokenizer.h"

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

namespace headlight::cli {

/// MODEL: a folder, a built-in name, an id in the local Hugging Face cache.
struct ModelArgument {
    std::string typed, tower;
    void add(Definition&);
    /// Error for a missing model and for formats that cannot be read.
    std::filesystem::path folder() const;
    std::string reference() const;  ///< as typed, with the tower
};

/// --text, --text-file, --pair; "-" is standard input.
struct TextArguments {
    std::string typed_text, text_file, typed_pair, typed_ids, chat, image, recipe_file;
    std::vector<std::string> typed_edits;
    CLI::Option* text_option = nullptr;
    CLI::Option* file_option = nullptr;
    CLI::Option* pair_option = nullptr;
    CLI::Option* image_option = nullptr;
    CLI::Option* ids_option = nullptr;

    void add(Definition&);
    /// --image FILE: what models of pictures read.
    void add_image(Definition&);
    /// --ids 5,17,3 or --ids FILE: token ids as they are, for folders without a tokenizer too.
    void add_ids(Definition&);
    /// --edit WORDS, --recipe FILE: what changes in the run (docs/recipe.md).
    void add_edits(Definition&);
    /// The edits of --recipe, then those of --edit. Error for words that cannot be read.
    intervention::Recipe recipe() const;
    bool has_edits() const { return !typed_edits.empty() || !recipe_file.empty(); }
    /// --chat PRESET: the text is a chat (headlight/text/chat.h).
    void add_chat(Definition&);
    void require() const;  ///< UsageError when neither a text nor a picture was given
    bool given() const { return text_option->count() > 0 || file_option->count() > 0 || has_image() || has_ids(); }
    bool has_ids() const { return ids_option && ids_option->count() > 0; }
    /// Error for what is no list of ids, with its place.
    std::vector<std::int64_t> ids() const;
    bool has_image() const { return image_option && image_option->count() > 0; }
    bool has_pair() const { return pair_option->count() > 0; }
    /// Error for a text with nothing in it.
    std::string text() const;
    /// The model's input: the text, or the chat in it as the preset writes it.
    std::string as_model_text(const std::string& typed, const headlight::text::Tokenizer&) const;
    std::string pair() const;
};

/// --dtype and --device, and what a command line tool has beside them.
struct ComputeOptions {
    std::string dtype = "float32";
    std::string device = "auto";
    int threads = 0;
    void add(Definition&);
    void add_type_and_device(Definition&);
    model::LoadOptions load() const;
};

/// "0,2,5-7" -> 0 2 5 6 7, sorted, each once. UsageError names the option and the part that is no number.
std::vector<std::int64_t> parse_index_list(const std::string& text, const std::string& option);

/// An option that nothing reads beside the other ones, and why.
struct UnusedOption {
    const char* name;  ///< "--wrong"
    bool unused = false;
    const char* why = "";
};
/// UsageError for the first of them that was given: it would have no effect, in silence.
void refuse_unused(const CLI::App&, std::initializer_list<UnusedOption>);

/// A check for layers, heads, positions and other numbers counted from 0.
CLI::Validator counted_from_zero();
/// A check for sizes that may be fractions.
CLI::Validator not_negative();

/// An option of any value; `type` is what --help calls it.
template <class Value>
CLI::Option* add_value(Definition& definition, const std::string& flag, Value& value, const std::string& help,
                       const std::string& type) {
    return definition.app->add_option(flag, value, help)->type_name(type);
}
/// One or several files, folders or models, which completion offers.
template <class Path>
CLI::Option* add_path(Definition& definition, const std::string& flag, Path& path, const std::string& help,
                      const std::string& type = "FILE", ValueKind kind = ValueKind::file) {
    CLI::Option* option = add_value(definition, flag, path, help, type);
    definition.kinds[option] = kind;
    return option;
}
/// --out FILE: what a command writes, by its ending; `without` says in --help what happens without it.
CLI::Option* add_out(Definition&, std::string& path, const std::vector<std::string>& endings, const std::string& without = {});
/// The token that a question is about: views pin a query, analyses read a position.
inline constexpr const char* kPosition = "--position,--query";
/// Layers, positions and the like: a number from 0.
inline CLI::Option* add_index(Definition& definition, const std::string& flag, std::int64_t& value, const std::string& help,
                              const std::string& type = "N") {
    return add_value(definition, flag, value, help, type)->check(counted_from_zero());
}
/// A number within limits: its default is shown.
template <class Number, class Limit>
CLI::Option* add_number(Definition& definition, const std::string& flag, Number& value, const std::string& help, Limit least,
                        Limit most, const std::string& type) {
    return add_value(definition, flag, value, help, type)->capture_default_str()->check(CLI::Range(least, most));
}
/// How many.
template <class Number>
CLI::Option* add_count(Definition& definition, const std::string& flag, Number& value, const std::string& help,
                       std::int64_t least, std::int64_t most, const std::string& type = "N") {
    return add_number(definition, flag, value, help, least, most, type);
}
/// --seed: its default is shown.
template <class Seed>
CLI::Option* add_seed(Definition& definition, Seed& seed, const std::string& help, const std::string& type = "N") {
    return add_value(definition, "--seed", seed, help, type)->capture_default_str();
}

}  // namespace headlight::cli
