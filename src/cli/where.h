// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/console.h"
#include "headlight/analyze/heads/head_table.h"

#include <memory>
#include <string>
#include <vector>

namespace headlight::cli {

/// --where EXPR. UsageError with the column of a mistake.
analyze::HeadQuery read_where(const std::string& expression, const analyze::HeadTable&, const trace::Trace*);
/// --sort MEASURE: its id. UsageError names the nearest.
std::string read_sort(const std::string& words, const analyze::HeadTable&);

/// Runs the random-token probe for measures that come from it, and fills them in.
void probe_if_asked(const std::vector<std::string>& measures, const std::shared_ptr<const model::Model>&,
                    const std::shared_ptr<const text::Tokenizer>&, analyze::HeadTable&, const Console&);

}  // namespace headlight::cli
