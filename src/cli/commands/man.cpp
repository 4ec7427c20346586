// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands/describe.h"

#include "headlight/base/version.h"

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

}  // namespace

Action define_man(Definition& definition, const Frontend& frontend) {
    return [frontend, console = definition.console] {
        console->result(manual(describe_all(frontend)));
        return 0;
    };
}

}  // namespace headlight::cli
