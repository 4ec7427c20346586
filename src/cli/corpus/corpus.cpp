// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/corpus.h"

namespace headlight::cli {
namespace {

constexpr Command kCorpusCommands[] = {
    {"corpus run",
     "Run texts through a model and record what heads and neurons do; resume an interrupted store.",
     {"headlight corpus run novella-7m --texts books --unit paragraph --limit 1000 --out store",
      "headlight corpus run novella-7m --texts treebank.conllu --part 3/8 --out store"},
     define_corpus_run},
    {"corpus info",
     "Show a store's contents: model, texts, tokens, progress, texts left out.",
     {"headlight corpus info store", "headlight corpus info store --json"},
     define_corpus_info},
    {"corpus merge",
     "Merge the parts of a run from several machines, or the finished segments of an interrupted run.",
     {"headlight corpus merge part-1 part-2 --out store", "headlight corpus merge store --out store"},
     define_corpus_merge},
    {"corpus heads",
     "Every measure of every head: mean over texts with its interval, and mean over all queries.",
     {"headlight corpus heads store --out heads.csv", "headlight corpus heads store --draws 5000 --out heads.json"},
     define_corpus_heads},
    {"corpus triggers",
     "What triggers a neuron: chunks with its largest and smallest coefficients, samples of every level, its histogram.",
     {"headlight corpus triggers store --layer 4 --neuron 217 --out neuron.csv",
      "headlight corpus triggers store --removal --model novella-7m --sample 50 --out removal.csv"},
     define_corpus_triggers},
    {"corpus agreement",
     "How layers arrive at predictions, and whether values predict the tokens after their triggers (Geva et al. 2021).",
     {"headlight corpus agreement store --out layers.csv",
      "headlight corpus agreement store --rows surest --model novella-7m --out values.csv"},
     define_corpus_agreement},
    {"corpus distances",
     "The distance between every pair of heads: Jensen-Shannon divergence with its standard error.",
     {"headlight corpus distances store --out pairs.csv", "headlight corpus distances store --sorted | head"},
     define_corpus_distances},
    {"corpus map",
     "Heads placed in a plane by their divergences, in groups, each with its nearest heads.",
     {"headlight corpus map store --out map.csv", "headlight corpus map store --group-below 0.05 --out map.json"},
     define_corpus_map},
    {"corpus compare",
     "Two models over the same texts: differences of every measure of heads with paired intervals, and heads matched.",
     {"headlight corpus compare store-a store-b --out differences.csv",
      "headlight corpus compare store-a store-b --rows heads --out partners.csv"},
     define_corpus_compare},
    {"corpus syntax",
     "How well single heads find the relations of a treebank, with intervals, baselines and a held-out half.",
     {"headlight corpus syntax store --out syntax.csv", "headlight corpus syntax store --all --out all.csv --latex best.tex"},
     define_corpus_syntax},
    {"corpus pos",
     "Attention of every head by part of speech, compared with uniform attention.",
     {"headlight corpus pos store --out pos.csv", "headlight corpus pos store --pairs --out pairs.csv"},
     define_corpus_pos},
    {"corpus alignment",
     "Share of each head's attention that runs along the arcs of a treebank.",
     {"headlight corpus alignment store --out alignment.csv", "headlight corpus alignment store --out alignment.json"},
     define_corpus_alignment},
    {"corpus query",
     "Select heads by what they do with words of a treebank, with example and counter-example sentences.",
     {"headlight corpus query store 'heads where VERB attends to its nsubj > 40 %'",
      "headlight corpus query store 'obj attends to its head > 60 %' --examples 20 --out examples.csv"},
     define_corpus_query},
    {"corpus probe",
     "What each layer knows: linear probes of labels, with controls and code lengths.",
     {"headlight corpus probe store --labels upos --out probe.csv",
      "headlight corpus probe store --labels spans.tsv --save-directions directions.npz --out probe.json"},
     define_corpus_probe},
    {"corpus coref",
     "How well single heads resolve coreference: chains of mentions, GAP, and the bias of WinoBias.",
     {"headlight corpus coref store --out coref.csv", "headlight corpus coref store --examples 20 --out examples.csv"},
     define_corpus_coref},
    {"corpus plot",
     "Draw figures of a store: heads, relations, parts of speech, neurons; as PNG, SVG, PDF, HTML or data.",
     {"headlight corpus plot store --view corpus-relations --out relations.pdf",
      "headlight corpus plot store --view corpus-neuron --layer 4 --neuron 217 --out neuron.svg"},
     define_corpus_plot},
};

}  // namespace

std::span<const Command> corpus_commands() { return kCorpusCommands; }

Action define_corpus(Definition& definition, const Frontend&) {
    return define_group(definition, *group_called("corpus"), "the command");
}

}  // namespace headlight::cli
