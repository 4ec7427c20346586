// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/command.h"

namespace headlight::cli {

Action define_corpus_run(Definition&, const Frontend&);
Action define_corpus_info(Definition&, const Frontend&);
Action define_corpus_merge(Definition&, const Frontend&);
Action define_corpus_heads(Definition&, const Frontend&);
Action define_corpus_triggers(Definition&, const Frontend&);
Action define_corpus_agreement(Definition&, const Frontend&);
Action define_corpus_distances(Definition&, const Frontend&);
Action define_corpus_map(Definition&, const Frontend&);
Action define_corpus_compare(Definition&, const Frontend&);
Action define_corpus_syntax(Definition&, const Frontend&);
Action define_corpus_pos(Definition&, const Frontend&);
Action define_corpus_alignment(Definition&, const Frontend&);
Action define_corpus_query(Definition&, const Frontend&);
Action define_corpus_probe(Definition&, const Frontend&);
Action define_corpus_coref(Definition&, const Frontend&);

Action define_corpus_plot(Definition&, const Frontend&);

}  // namespace headlight::cli
