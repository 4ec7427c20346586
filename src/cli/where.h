// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/console.h"
#include "headlight/corpus/heads/corpus_heads.h"

#include <memory>
#include <string>
#include <vector>

namespace headlight::cli {

/// --where EXPR. UsageError with the column of a mistake.
corpus::HeadQuestion read_where(const std::string& expression, const analyze::HeadTable&, const trace::Trace*,
                                const corpus::CorpusHeads* corpus = nullptr);
/// --sort MEASURE: its id. UsageError names the nearest.
std::string read_sort(const std::string& words, const analyze::HeadTable&);

/// Runs the random-token probe for measures that come from it, and fills them in.
void probe_if_asked(const std::vector<std::string>& measures, const std::shared_ptr<const model::Model>&,
                    const std::shared_ptr<const text::Tokenizer>&, analyze::HeadTable&, const Console&);

}  // namespace headlight::cli
