// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace headlight::cli {

struct Definition;

/// --memory of a command: sets memory_budget() while the command line is read.
void add_memory(Definition&);

}  // namespace headlight::cli
