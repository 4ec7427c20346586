// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/analyze/analyses.h"

namespace headlight::cli {
namespace {

constexpr Command kAnalyses[] = {
    {"analyze heads",
     "Every measure of every head on a text: entropy, distances, shares, induction.",
     {"headlight analyze heads novella-7m --text \"The doctor asked the nurse.\" --out heads.csv",
      "headlight analyze heads novella-7m --texts sentences.txt --out heads.json"},
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
    {"analyze induction",
     "Induction, previous-token and duplicate-token scores of every head on random tokens, repeated.",
     {"headlight analyze induction novella-7m --out induction.csv",
      "headlight analyze induction novella-7m --n 100 --batch 20 --seed 7 --out induction.npz"},
     define_analyze_induction},
    {"analyze detect",
     "How closely every head follows a known pattern on a text: previous token, duplicate token, induction.",
     {"headlight analyze detect novella-7m --text \"one two one two\" --kind previous-token --out previous.csv",
      "headlight analyze detect novella-7m --text \"one two one two\" --kind induction --measure abs"},
     define_analyze_detect},
    {"analyze ov",
     "What a head writes for what it reads: eigenvalues, copying score, tokens, diagonal ranks. Weights alone, no text.",
     {"headlight analyze ov novella-7m --layer 5 --head 7 --out ov.json",
      "headlight analyze ov novella-7m --layer 5 --head 7 --token \" doctor\" --diagonal --out ov.json"},
     define_analyze_ov},
    {"analyze qk",
     "What a head attends to: eigenvalues, token pairs, diagonal ranks. Weights alone, no text.",
     {"headlight analyze qk novella-7m --layer 5 --head 7 --out qk.json",
      "headlight analyze qk novella-7m --layer 4 --head 5 --token \" doctor\" --embedding stream --query stream --out qk.json"},
     define_analyze_qk},
    {"analyze composition",
     "How much of what each head writes the later heads can read (Q, K, V composition). Weights alone, no text.",
     {"headlight analyze composition novella-7m --out composition.csv",
      "headlight analyze composition novella-7m --fold-norms --out composition.npz"},
     define_analyze_composition},
    {"analyze copy-suppression",
     "Heads that lower the logit of a token they attend to; how much of a head is that.",
     {"headlight analyze copy-suppression novella-7m --text \"The doctor asked the nurse.\" --out pairs.csv",
      "headlight analyze copy-suppression novella-7m --text-file chapter.txt --explained --out heads.csv"},
     define_analyze_copy_suppression},
    {"analyze importance",
     "What a prediction depends on, by gradient and blank-out, and whether attention shows it: rank correlations, shuffles.",
     {"headlight analyze importance novella-7m --text \"The doctor asked the nurse.\" --position 4 --out tokens.csv",
      "headlight analyze importance novella-7m --text \"The doctor asked the nurse.\" --position 4 --target \" nurse\" --rows "
      "layers --out layers.csv"},
     define_analyze_importance},
    {"analyze attention-gradient",
     "How much the loss would change with each head's weights, by kind of key (Clark et al. 2019, figure 3).",
     {"headlight analyze attention-gradient novella-7m --text \"The doctor asked the nurse.\" --out gradient.csv",
      "headlight analyze attention-gradient novella-7m --text-file chapter.txt --out gradient.json"},
     define_analyze_attention_gradient},
    {"analyze kv-cache",
     "Memory of the cache of keys and values against the context: MHA, GQA, MQA, MLA. No weights, no text.",
     {"headlight analyze kv-cache novella-7m",
      "headlight analyze kv-cache novella-7m --context 2048,32768 --cache-dtype fp8 --groups 2 --out cache.csv"},
     define_analyze_kv_cache},
    {"analyze lens",
     "Logit lens: what the model would say at every layer and position.",
     {"headlight analyze lens novella-7m --text \"The doctor asked the nurse.\" --out lens.csv",
      "headlight analyze lens novella-7m --text \"Call me.\" --at resid_mid --top 5 --watch \" nurse\" --out lens.json"},
     define_analyze_lens},
    {"analyze attribution",
     "Direct logit attribution: what each head, MLP or neuron adds to a logit.",
     {"headlight analyze attribution novella-7m --text \"The doctor asked the nurse.\" --position 5 --token \" nurse\" --out a.csv",
      "headlight analyze attribution novella-7m --text \"She was\" --position 1 --token \" late\" --minus \" old\" --neurons --out d.csv"},
     define_analyze_attribution,
     "dla"},
    {"analyze mlp",
     "The MLP's strongest memories at a token and what they promote.",
     {"headlight analyze mlp novella-7m --text \"The doctor asked.\" --layer 3 --position 2 --out m.csv",
      "headlight analyze mlp novella-7m --text \"The doctor asked.\" --layer 5 --position 2 --top 0 --gain --out m.csv"},
     define_analyze_mlp,
     "memories"},
    {"analyze experts",
     "Which experts every token goes through, and with what weight.",
     {"headlight analyze experts mixtral-8x7b --text \"The doctor asked the nurse.\" --out experts.csv",
      "headlight analyze experts qwen1.5-moe --text \"The doctor asked.\" --layer 3 --out experts.npz"},
     define_analyze_experts},
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
    {"analyze value-mix",
     "Norm-based attention: length of what each token gives, and how much of a token comes from others.",
     {"headlight analyze value-mix novella-7m --text \"The doctor asked the nurse.\" --out ratios.csv",
      "headlight analyze value-mix novella-7m --text \"The doctor asked the nurse.\" --layer 4 --head 5 --out pairs.csv"},
     define_analyze_value_mix},
};

}  // namespace

std::span<const Command> analyses() { return kAnalyses; }

/// `headlight analyze` alone or with an unknown name; a known one is found earlier by its two words.
Action define_analyze(Definition& definition, const Frontend&) {
    auto name = std::make_shared<std::string>();
    std::vector<std::string> names;
    for (const Command& each : analyses()) names.emplace_back(analysis_name(each));
    CLI::Option* option = definition.app->add_option("NAME", *name, "the analysis")->required();
    definition.restrict_to(option, names);
    definition.app->allow_extras();  // keep the remaining arguments so that the misspelt name can be reported
    return [name]() -> int { throw UsageError("An option stands before the analysis: write headlight analyze " + *name); };
}

}  // namespace headlight::cli
