// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/describe.h"

#include "headlight/base/version.h"

#include <map>
#include <set>

namespace headlight::cli {
namespace {

/// Text escaped for roff.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else if (c == '\'')
            out += "\\(aq";
        else
            out += c;
    }
    if (!out.empty() && out.front() == '.') out = "\\&" + out;
    return out;
}

void put_options(std::string& out, const CommandFacts& command) {
    for (const OptionFacts& argument : command.arguments)
        out += ".TP\n.I " + roff(argument.value) + "\n" + roff(argument.help) + "\n";
    for (const OptionFacts& option : command.options) {
        std::string names;
        for (const std::string& name : option.names) names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
        out += ".TP\n" + names;
        if (option.takes_value()) out += " \\fI" + roff(option.value) + "\\fR";
        out += "\n" + roff(option.help);
        if (!option.default_value.empty()) out += " (default: " + roff(option.default_value) + ")";
        out += "\n";
    }
    out += ".PP\nExamples:\n.nf\n.RS\n";
    for (const std::string_view example : command.examples) out += roff(example) + "\n";
    out += ".RE\n.fi\n";
}

std::string manual(const std::vector<CommandFacts>& all) {
    std::string out = ".TH HEADLIGHT 1 \"\" \"Headlight " + std::string(version()) + "\" \"User Commands\"\n";
    out += ".SH NAME\nheadlight \\- explorer for transformer language models\n.SH SYNOPSIS\n";
    out += ".B headlight\n[\\fIMODEL\\fR] [\\fB\\-\\-text\\fR \\fITEXT\\fR] [\\fIoption\\fR ...]\n";
    for (const CommandFacts& command : all) {
        if (command.name.empty()) continue;
        out += ".br\n.B headlight " + roff(command.name) + "\n";
        for (const OptionFacts& argument : command.arguments) {
            const std::string word = "\\fI" + roff(argument.value) + "\\fR" + (argument.repeats ? " ..." : "");
            out += argument.required ? word + " " : "[" + word + "] ";
        }
        out += "[\\fIoption\\fR ...]\n";
    }
    out += ".SH DESCRIPTION\n" + roff(all.front().summary) +
           "\nWithout a command a window opens; a command does the same work without one. Everything runs on this\n"
           "machine and nothing is fetched from elsewhere. Results go to a file or to standard output, messages to\n"
           "standard error.\n";
    put_options(out, all.front());
    out += ".SH COMMANDS\n";
    for (const CommandFacts& command : all) {
        if (command.name.empty()) continue;
        out += ".SS " + roff(command.name) + "\n" + roff(command.summary) + "\n";
        put_options(out, command);
    }
    out +=
        ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\ncould not; a message on standard error says why\n"
        ".TP\n2\nwrong usage; a message names the nearest valid word\n";
    out +=
        ".SH ENVIRONMENT\n.TP\nHF_HUB_CACHE, HF_HOME\nwhere the local Hugging Face cache lies (default: "
        "~/.cache/huggingface/hub)\n.TP\nHEADLIGHT_MODELS\na folder with further built\\-in models\n";
    return out;
}

/// A cell of a Markdown table.
std::string cell(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '|' ? std::string("\\|") : c == '\n' ? std::string(" ") : std::string(1, c);
    return out;
}

std::string option_row(const OptionFacts& option) {
    constexpr std::size_t kLongest = 100;  // lists of measures are in --help
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "`" : ", `") + name + "`";
    std::string value = option.value.size() > kLongest ? "WORD" : option.value;
    if (const std::size_t limits = value.find(" in ["); limits != std::string::npos) value.resize(value.rfind(':', limits));
    std::string what = cell(option.help);
    if (!option.default_value.empty()) what += " (default: `" + cell(option.default_value) + "`)";
    return "| " + names + (option.takes_value() ? " " + cell(value) : "") + " | " + what + " |\n";
}

/// The tables of options in docs/cli.md: those that many commands have once, then of each command its own.
std::string option_tables(const std::vector<CommandFacts>& all) {
    constexpr int kMany = 5;
    std::map<std::string, int> commands_with;
    for (const CommandFacts& command : all)
        for (const OptionFacts& option : command.options) ++commands_with[option_row(option)];
    const auto is_shared = [&](const std::string& row) { return commands_with[row] >= kMany; };
    const std::string head = "| option | |\n|---|---|\n";
    std::string out = "### Options of many commands\n\n" + head;
    std::set<std::string> listed;
    for (const CommandFacts& command : all)
        for (const OptionFacts& option : command.options)
            if (const std::string row = option_row(option); is_shared(row) && listed.insert(row).second) out += row;
    for (const CommandFacts& command : all) {
        std::string rows;
        for (const OptionFacts& option : command.options)
            if (const std::string row = option_row(option); !is_shared(row)) rows += row;
        if (!rows.empty()) out += "\n### `headlight" + (command.name.empty() ? "" : " " + command.name) + "`\n\n" + head + rows;
    }
    return out;
}

}  // namespace

Action define_man(Definition& definition, const Frontend& frontend) {
    auto tables = std::make_shared<bool>(false), json = std::make_shared<bool>(false);
    auto* options = definition.app->add_flag("--options", *tables,
                                             "print the options of every command as Markdown tables instead (docs/cli.md)");
    definition.app->add_flag("--json", *json, "print commands, options and views as one JSON object instead (docs/python.md)")
        ->excludes(options);
    return [frontend, tables, json, console = definition.console] {
        const std::vector<CommandFacts> all = describe_all(frontend);
        console->result(*json ? commands_json(all) : *tables ? option_tables(all) : manual(all));
        return 0;
    };
}

}  // namespace headlight::cli
