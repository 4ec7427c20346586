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
    {"analyze lens",
     "Logit lens: what the model would say at every layer and position.",
     {"headlight analyze lens novella-7m --text \"The doctor asked the nurse.\" --out lens.csv",
      "headlight analyze lens novella-7m --text \"Call me.\" --at resid_mid --top 5 --watch \" nurse\" --out lens.json"},
     define_analyze_lens},
    {"analyze dla",
     "Direct logit attribution: what each head, MLP or neuron adds to a logit.",
     {"headlight analyze dla novella-7m --text \"The doctor asked the nurse.\" --position 5 --token \" nurse\" --out dla.csv",
      "headlight analyze dla novella-7m --text \"She was\" --position 1 --token \" late\" --minus \" old\" --neurons --out d.csv"},
     define_analyze_dla},
    {"analyze memories",
     "The MLP's strongest memories at a token and what they promote.",
     {"headlight analyze memories novella-7m --text \"The doctor asked.\" --layer 3 --position 2 --out m.csv",
      "headlight analyze memories novella-7m --text \"The doctor asked.\" --layer 5 --position 2 --top 0 --gain --out m.csv"},
     define_analyze_memories},
    {"analyze refinement",
     "How the MLPs change the prediction, layer by layer.",
     {"headlight analyze refinement novella-7m --text-file chapter.txt --out r.csv",
      "headlight analyze refinement novella-7m --texts sentences.txt --changes --out last.csv"},
     define_analyze_refinement},
    {"analyze drivers",
     "What drives a neuron, which neurons a head drives, which write a token.",
     {"headlight analyze drivers novella-7m --text \"The doctor asked.\" --layer 3 --neuron 17 --position 2 --out d.csv",
      "headlight analyze drivers novella-7m --token \" nurse\" --top 20"},
     define_analyze_drivers},
    {"analyze contributions",
     "The contribution graph behind one token's last state.",
     {"headlight analyze contributions novella-7m --text \"The doctor asked.\" --position 2 --out c.csv",
      "headlight analyze contributions novella-7m --text \"The doctor asked.\" --position 2 --threshold 0.01 --out c.json"},
     define_analyze_contributions},
    {"analyze predictions",
     "Log-probability and rank of every token, and what was expected instead.",
     {"headlight analyze predictions novella-7m --text \"The doctor asked the nurse.\" --top 5 --out p.csv",
      "headlight analyze predictions bert-base-uncased --text \"The doctor asked.\" --mask 2 --top 20"},
     define_analyze_predictions},
};

}  // namespace

std::span<const Command> analyses() {
    return kAnalyses;
}

/// `headlight analyze` alone: says what there is. An analysis is found before this by its two words.
Action define_analyze(Definition& definition, const Frontend&) {
    auto name = std::make_shared<std::string>();
    definition.app->add_option("NAME", *name, "the analysis")->required();
    definition.app->allow_extras();
    return [name]() -> int {
        std::vector<std::string> names;
        for (const Command& each : analyses()) names.emplace_back(each.name.substr(each.name.find(' ') + 1));
        const std::string near = nearest(*name, names);
        throw UsageError("unknown analysis " + *name + (near.empty() ? "" : "; did you mean " + near + "?"));
    };
}

}  // namespace headlight::cli
