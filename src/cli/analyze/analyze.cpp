// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/analyze/analyses.h"
#include "cli/nearest.h"

namespace headlight::cli {
namespace {

constexpr Command kAnalyses[] = {
    {"analyze heads",
     "Every measure of every head on a text: entropy, distances, shares, induction.",
     {"headlight analyze heads novella-7m --text \"The doctor asked the nurse.\" --out heads.csv",
      "headlight analyze heads novella-7m --text-file chapter.txt --out heads.json"},
     define_analyze_heads},
    {"analyze focus",
     "What a head's scores are made of: position, query bias and content.",
     {"headlight analyze focus novella-7m --text \"The doctor asked the nurse.\" --layer 4 --head 5 --out focus.csv",
      "headlight analyze focus novella-7m --text-file chapter.txt --layer 0 --head 0 --sort-idx 1 --five-terms"},
     define_analyze_focus},
    {"analyze rollout",
     "Attention through all layers down to the input: rollout and flow.",
     {"headlight analyze rollout novella-7m --text \"The doctor asked the nurse.\" --out r.npz",
      "headlight analyze rollout novella-7m --text \"The doctor asked the nurse.\" --flow --layer 5 --out r.csv"},
     define_analyze_rollout},
};

}  // namespace

std::span<const Command> analyses() {
    return kAnalyses;
}

/// `headlight analyze` alone: says what there is. An analysis is found before this by its two words.
Action define_analyze(Definition& definition, const Frontend&) {
    auto name = std::make_shared<std::string>();
    CLI::Option* option = definition.app->add_option("NAME", *name, "the analysis")->required();
    definition.app->allow_extras();
    std::vector<std::string> names;
    for (const Command& each : analyses()) names.emplace_back(each.name.substr(each.name.find(' ') + 1));
    definition.choices[option] = names;  // for completion; the message below knows better what was meant
    return [name, names]() -> int {
        const std::string near = nearest(*name, names);
        throw UsageError("unknown analysis " + *name + (near.empty() ? "" : "; did you mean " + near + "?"));
    };
}

}  // namespace headlight::cli
