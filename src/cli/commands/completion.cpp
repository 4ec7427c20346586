// SPDX-License-Identifier: GPL-3.0-or-later
// Completion scripts. Each is a small interpreter in the shell's language over tables made from the definitions.
#include "cli/commands/describe.h"

#include "headlight/model/locate.h"

namespace headlight::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

/// In single quotes for the shell.
std::string shell_quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::string names_of(std::span<const Command> of) {
    std::vector<std::string> names;
    for (const Command& command : of) names.emplace_back(analysis_name(command));
    return joined(names);
}

/// "a b" -> "a|b", for the patterns of case.
std::string alternatives(std::string words) {
    for (char& c : words)
        if (c == ' ') c = '|';
    return words;
}

/// Of a group: "analyze heads".
bool is_own(const CommandFacts& command) { return command.name.find(' ') != std::string::npos; }

std::string bash_values(const OptionFacts& option) {
    if (!option.choices.empty()) return "COMPREPLY=($(compgen -W " + shell_quoted(joined(option.choices)) + " -- \"$cur\"))";
    switch (option.kind) {
        case ValueKind::file: return "COMPREPLY=($(compgen -f -- \"$cur\"))";
        case ValueKind::folder: return "COMPREPLY=($(compgen -d -- \"$cur\"))";
        case ValueKind::model:
            return "COMPREPLY=($(compgen -d -- \"$cur\") $(compgen -W " + shell_quoted(std::string(model::default_model_name)) +
                   " -- \"$cur\"))";
        case ValueKind::text: break;
    }
    return "COMPREPLY=()";
}

std::string bash(const std::vector<CommandFacts>& all) {
    std::string out =
        "# bash completion for headlight\n"
        "_headlight() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=\n"
        "    case ${COMP_WORDS[1]} in\n";
    out += "        " + alternatives(names_of(commands())) +
           ") [ \"$COMP_CWORD\" -gt 1 ] && command=${COMP_WORDS[1]} ;;\n    esac\n";
    for (const CommandGroup& group : command_groups()) {
        const std::string name(group.name);
        out += "    if [ \"$command\" = " + name + " ] && [ \"$COMP_CWORD\" -gt 2 ]; then\n        case ${COMP_WORDS[2]} in\n" +
               "            " + alternatives(names_of(group.commands)) + ") command=\"" + name +
               " ${COMP_WORDS[2]}\" ;;\n        esac\n    fi\n";
    }
    out += "    case $command:$prev in\n";
    for (const CommandFacts& command : all)
        for (const OptionFacts& option : command.options) {
            if (!option.takes_value()) continue;
            for (const std::string& name : option.names)
                out += "        '" + command.name + "':" + name + ") " + bash_values(option) + "; return ;;\n";
        }
    out += "    esac\n    case $command:$cur in\n";
    for (const CommandFacts& command : all) {
        std::vector<std::string> options;
        for (const OptionFacts& option : command.options) options.insert(options.end(), option.names.begin(), option.names.end());
        out += "        '" + command.name + "':-*) COMPREPLY=($(compgen -W " + shell_quoted(joined(options)) +
               " -- \"$cur\")); return ;;\n";
    }
    out += "    esac\n    case $command in\n";
    for (const CommandFacts& command : all) {
        if (command.arguments.empty()) continue;
        out += "        '" + command.name + "') " + bash_values(command.arguments.front()) + " ;;\n";
    }
    out += "    esac\n";
    out += "    [ \"$COMP_CWORD\" -eq 1 ] && COMPREPLY+=($(compgen -W " + shell_quoted(names_of(commands())) + " -- \"$cur\"))\n";
    out += "    return 0\n}\ncomplete -o filenames -F _headlight headlight\n";
    return out;
}

/// Text inside a zsh _arguments specification: brackets and colons have a meaning there.
std::string zsh_text(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string zsh_values(const OptionFacts& option) {
    if (!option.choices.empty()) return "(" + joined(option.choices) + ")";
    return option.kind == ValueKind::text ? " " : option.kind == ValueKind::file ? "_files" : "_files -/";
}

void zsh_arguments(std::string& out, const CommandFacts& command, const std::string& indent) {
    out += indent + "_arguments";
    for (const OptionFacts& option : command.options)
        for (const std::string& name : option.names) {
            std::string spec = name + "[" + zsh_text(option.help) + "]";
            if (option.takes_value()) spec += ":" + zsh_text(option.names.front()) + ":" + zsh_values(option);
            out += " \\\n" + indent + "    " + shell_quoted(spec);
        }
    for (const OptionFacts& argument : command.arguments)
        out += " \\\n" + indent + "    " +
               shell_quoted((argument.repeats ? "*:" : ":") + zsh_text(argument.value) + ":" + zsh_values(argument));
    out += "\n";
}

/// The second word decides where there is one.
void zsh_group(std::string& out, const std::vector<CommandFacts>& all, const std::string& group) {
    out += "                if (( CURRENT > 2 )); then\n                    case $words[2] in\n";
    for (const CommandFacts& command : all) {
        if (!command.name.starts_with(group + " ")) continue;
        out += "                        " + command.name.substr(command.name.find(' ') + 1) +
               ")\n                            shift words; (( CURRENT-- ))\n";
        zsh_arguments(out, command, "                            ");
        out += "                            return ;;\n";
    }
    out += "                    esac\n                fi\n";
}

std::string zsh(const std::vector<CommandFacts>& all) {
    std::string out = "#compdef headlight\n_headlight() {\n    local -a commands=(\n";
    for (const CommandFacts& command : all)
        if (!command.name.empty() && !is_own(command))
            out += "        " + shell_quoted(command.name + ":" + zsh_text(command.summary)) + "\n";
    out += "    )\n    if (( CURRENT > 2 )); then\n        local command=$words[2]\n        case $command in\n";
    for (const CommandFacts& command : all) {
        if (command.name.empty() || is_own(command)) continue;
        out += "            " + command.name + ")\n                shift words; (( CURRENT-- ))\n";
        if (group_called(command.name)) zsh_group(out, all, command.name);
        zsh_arguments(out, command, "                ");
        out += "                return ;;\n";
    }
    out += "        esac\n    else\n        _describe command commands\n    fi\n";
    zsh_arguments(out, all.front(), "    ");
    out += "}\n_headlight \"$@\"\n";
    return out;
}

std::string fish(const std::vector<CommandFacts>& all) {
    std::string out = "# fish completion for headlight\n";
    const std::string none = "not __fish_seen_subcommand_from " + names_of(commands());
    for (const CommandFacts& command : all) {
        const std::string seen = "__fish_seen_subcommand_from ";
        std::string when = command.name.empty() ? none : seen + command.name;
        if (is_own(command)) {
            const std::size_t space = command.name.find(' ');
            when = seen + command.name.substr(0, space) + "; and " + seen + command.name.substr(space + 1);
        } else if (const CommandGroup* group = group_called(command.name)) {
            when += "; and not " + seen + names_of(group->commands);
        }
        if (!command.name.empty() && !is_own(command))
            out += "complete -c headlight -n " + shell_quoted(none) + " -a " + command.name + " -d " +
                   shell_quoted(command.summary) + "\n";
        for (const OptionFacts& option : command.options) {
            out += "complete -c headlight -n " + shell_quoted(when);
            for (const std::string& name : option.names)
                out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (option.takes_value()) {
                const bool files = option.kind != ValueKind::text && option.choices.empty();
                out += files ? " -r -F" : " -x";
                if (!option.choices.empty()) out += " -a " + shell_quoted(joined(option.choices));
            }
            out += " -d " + shell_quoted(option.help) + "\n";
        }
        if (!command.arguments.empty() && !command.arguments.front().choices.empty())
            out += "complete -c headlight -n " + shell_quoted(when) + " -f -a " +
                   shell_quoted(joined(command.arguments.front().choices)) + "\n";
    }
    return out;
}

}  // namespace

Action define_completion(Definition& definition, const Frontend& frontend) {
    auto shell = std::make_shared<std::string>();
    CLI::Option* option = definition.add_choice("SHELL", *shell, {"bash", "zsh", "fish"}, "the shell to complete in");
    option->required();
    return [shell, frontend, console = definition.console] {
        const std::vector<CommandFacts> all = describe_all(frontend);
        console->result(*shell == "bash" ? bash(all) : *shell == "zsh" ? zsh(all) : fish(all));
        return 0;
    };
}

}  // namespace headlight::cli
