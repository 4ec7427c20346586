// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/console.h"
#include "headlight/base/enum_table.h"
#include "headlight/cli/cli.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::cli {

/// A mistake in how the program was called: exit code 2.
class UsageError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// How completion treats the value of an option.
enum class ValueKind { text, file, folder, model };

/// One command's definition while it is made: the CLI11 app and what completion and the man page know beyond it.
class Definition {
public:
    explicit Definition(const std::string& name) : app(std::make_unique<CLI::App>("", "headlight " + name)) {}

    std::unique_ptr<CLI::App> app;
    std::shared_ptr<Console> console = std::make_shared<Console>();
    std::map<const CLI::Option*, std::vector<std::string>> choices;
    std::map<const CLI::Option*, ValueKind> kinds;
    std::map<const CLI::Option*, std::vector<std::string>> endings;  ///< of the file that an option names: ".csv", ".json"
    struct Out {
        std::string* path;
        std::string format;  ///< --format, for the path "-"
    };
    std::unique_ptr<Out> out;  ///< of a command that writes a file

    /// An option that takes one of a few words; the error for a wrong one names the nearest.
    CLI::Option* add_choice(const std::string& flag, std::string& value, std::vector<std::string> words, const std::string& help);
    /// The same for an enum with a table; the value that it has is the default.
    template <class E>
    CLI::Option* add_enum(const std::string& flag, E& value, const std::string& help) {
        const auto take = [&value](const std::string& word) { value = enum_value<E>(word).value(); };
        CLI::Option* option = app->add_option_function<std::string>(flag, take, help);
        if constexpr (HasAliases<E>)
            option->transform([](std::string word) {
                const auto known = enum_value<E>(word);
                return known ? std::string(enum_word(*known)) : word;
            });
        restrict_to(option->default_str(std::string(enum_word(value))), enum_words<E>());
        return option;
    }
    /// The same for an option that is there already.
    /// `prefix`: may stand before each of them.
    void restrict_to(CLI::Option*, std::vector<std::string> words, std::string_view prefix = {});
};

/// Does the work and returns the exit code.
using Action = std::function<int()>;

struct Command {
    std::string_view name;
    std::string_view summary;
    std::array<std::string_view, 2> examples;
    Action (*define)(Definition&, const Frontend&);
    std::string_view alias{};  ///< an earlier name of an analysis, which scripts may use: "dla"
    std::string_view view{};   ///< the view that draws an analysis; empty: that of its name, if there is one
};

/// Every subcommand, in the order of --help. The window is `window_command`: it has no name.
std::span<const Command> commands();
/// What `headlight analyze` offers; their names are two words, "analyze heads".
std::span<const Command> analyses();
/// What `headlight corpus` offers.
std::span<const Command> corpus_commands();
/// A command that has commands of its own, each of two words.
struct CommandGroup {
    std::string_view name, title;
    std::span<const Command> commands;
};
std::span<const CommandGroup> command_groups();
/// nullptr: it is not one.
const CommandGroup* group_called(std::string_view name);
/// The last word of a name: "heads" of "analyze heads".
inline std::string_view analysis_name(const Command& analysis) { return analysis.name.substr(analysis.name.find(' ') + 1); }
const Command& window_command();

// One file each.
Action define_window(Definition&, const Frontend&);
Action define_fetch(Definition&, const Frontend&);
Action define_info(Definition&, const Frontend&);
Action define_tokenize(Definition&, const Frontend&);
Action define_trace(Definition&, const Frontend&);
Action define_generate(Definition&, const Frontend&);
Action define_render(Definition&, const Frontend&);
Action define_compare(Definition&, const Frontend&);
Action define_sweep(Definition&, const Frontend&);
Action define_check_tasks(Definition&, const Frontend&);
Action define_bench(Definition&, const Frontend&);
Action define_gallery(Definition&, const Frontend&);
Action define_analyze(Definition&, const Frontend&);
Action define_corpus(Definition&, const Frontend&);
Action define_map(Definition&, const Frontend&);
Action define_completion(Definition&, const Frontend&);
Action define_man(Definition&, const Frontend&);

/// `headlight analyze` or `headlight corpus` alone or with an unknown name; a known one is found earlier by its two words.
Action define_group(Definition&, const CommandGroup&, const char* help);

/// A command's definition with description, examples and the options every command has.
struct Built {
    Definition definition;
    Action action;
};
Built build(const Command&, const Frontend&);

/// Parses the words behind a command's name, does its work and returns the exit code.
int run_command(const Command&, std::vector<std::string> words, const Frontend&);

}  // namespace headlight::cli
