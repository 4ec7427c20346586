// SPDX-License-Identifier: GPL-3.0-or-later
// The definitions of the commands as data: what shell completion, the man page and the Python package are made from.
#pragma once

#include "cli/command.h"

namespace headlight::cli {

struct OptionFacts {
    std::vector<std::string> names;  ///< "--quiet", "-q"; empty for a positional argument
    std::string value;               ///< "FILE", "a|b"; empty for a flag
    std::string help;
    std::string default_value;
    std::vector<std::string> choices;
    std::vector<std::string> endings;  ///< of a file that is written
    ValueKind kind = ValueKind::text;
    bool repeats = false;
    bool required = false;
    bool takes_value() const { return !value.empty(); }
};

struct CommandFacts {
    std::string name;  ///< empty: the window
    std::string summary;
    std::array<std::string_view, 2> examples;
    std::vector<OptionFacts> options;
    std::vector<OptionFacts> arguments;
    std::string view;  ///< of an analysis: the view that draws it
};

CommandFacts describe(const Command&, const Frontend&);
std::vector<CommandFacts> describe_all(const Frontend&);  ///< the window first
/// As a JSON object: {"version", "picture_options": [names], "commands": [{"name", "summary", "examples", "view", "arguments",
/// "options"}], "views": [{"id", "title", "options"}]}. An option has "names", "value", "help", "default", "choices", "endings",
/// "kind", "repeats" and "required".
std::string commands_json(const std::vector<CommandFacts>&);

}  // namespace headlight::cli
