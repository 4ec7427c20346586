// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"

#include <string>

namespace headlight::cli {

/// --where EXPR. UsageError with the column of a mistake.
analyze::HeadQuery read_where(const std::string& expression, const analyze::HeadTable&, const trace::Trace*);
/// --sort MEASURE: its id. UsageError names the nearest.
std::string read_sort(const std::string& words, const analyze::HeadTable&);

}  // namespace headlight::cli
