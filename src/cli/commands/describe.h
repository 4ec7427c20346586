// SPDX-License-Identifier: GPL-3.0-or-later
// The definitions of the commands as data: what shell completion and the man page are made from.
#pragma once

#include "cli/command.h"

namespace headlight::cli {

struct OptionFacts {
    std::vector<std::string> names;  ///< "--quiet", "-q"; empty for a positional argument
    std::string value;               ///< "FILE", "a|b"; empty for a flag
    std::string help;
    std::string default_value;
    std::vector<std::string> choices;
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
};

CommandFacts describe(const Command&, const Frontend&);
std::vector<CommandFacts> describe_all(const Frontend&);  ///< the window first

}  // namespace headlight::cli
