// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/corpus/corpus.h"

namespace headlight::cli {
namespace {

constexpr Command kCorpusCommands[] = {
    {"corpus run",
     "Run texts through a model and keep what heads and neurons did; go on with a store where it stopped.",
     {"headlight corpus run novella-7m --texts books --unit paragraph --limit 1000 --out store",
      "headlight corpus run novella-7m --texts treebank.conllu --part 3/8 --out store"},
     define_corpus_run},
    {"corpus info",
     "What a store holds: model, texts, tokens, what is finished, what was left out.",
     {"headlight corpus info store", "headlight corpus info store --json"},
     define_corpus_info},
    {"corpus merge",
     "Merge the parts of a run that several machines made, or what an interrupted run has finished.",
     {"headlight corpus merge novella-7m part-1 part-2 --out store", "headlight corpus merge novella-7m store --out store"},
     define_corpus_merge},
    {"corpus heads",
     "Every measure of every head: mean over texts with its interval, and mean over all queries.",
     {"headlight corpus heads store --out heads.csv", "headlight corpus heads store --draws 5000 --out heads.json"},
     define_corpus_heads},
};

}  // namespace

std::span<const Command> corpus_commands() { return kCorpusCommands; }

Action define_corpus(Definition& definition, const Frontend&) {
    return define_group(definition, *group_called("corpus"), "the command");
}

}  // namespace headlight::cli
