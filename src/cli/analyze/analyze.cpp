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
    {"analyze ov",
     "What a head writes for what it reads: eigenvalues, copying score, tokens, diagonal ranks. Weights alone, no text.",
     {"headlight analyze ov novella-7m --layer 5 --head 7 --out ov.json",
      "headlight analyze ov novella-7m --layer 5 --head 7 --token \" doctor\" --diagonal --out ov.json"},
     define_analyze_ov},
    {"analyze qk",
     "What a head looks at: eigenvalues, token pairs, diagonal ranks. Weights alone, no text.",
     {"headlight analyze qk novella-7m --layer 5 --head 7 --out qk.json",
      "headlight analyze qk novella-7m --layer 4 --head 5 --token \" doctor\" --embedding stream --query stream --out qk.json"},
     define_analyze_qk},
    {"analyze composition",
     "How much of what each head writes the later heads can read (Q, K, V composition). Weights alone, no text.",
     {"headlight analyze composition novella-7m --out composition.csv",
      "headlight analyze composition novella-7m --fold-norms --out composition.npz"},
     define_analyze_composition},
    {"analyze copy-suppression",
     "Heads that lower the logit of a token they look at; how much of a head is that.",
     {"headlight analyze copy-suppression novella-7m --text \"The doctor asked the nurse.\" --out pairs.csv",
      "headlight analyze copy-suppression novella-7m --text-file chapter.txt --explained --out heads.csv"},
     define_analyze_copy_suppression},
    {"analyze importance",
     "What a prediction depends on, by gradient and blank-out, and whether attention tells: rank correlations, shuffles.",
     {"headlight analyze importance novella-7m --text \"The doctor asked the nurse.\" --position 4 --out tokens.csv",
      "headlight analyze importance novella-7m --text \"The doctor asked the nurse.\" --position 4 --target \" nurse\" --rows "
      "layers --out layers.csv"},
     define_analyze_importance},
    {"analyze attention-gradient",
     "How much the loss would change with each head's weights, by what is looked at (Clark et al. 2019, figure 3).",
     {"headlight analyze attention-gradient novella-7m --text \"The doctor asked the nurse.\" --out gradient.csv",
      "headlight analyze attention-gradient novella-7m --text-file chapter.txt --out gradient.json"},
     define_analyze_attention_gradient},
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
