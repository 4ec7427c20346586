// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/options.h"
#include "headlight/trace/trace.h"

namespace headlight::cli {

/// Loads the model and runs the text: what `trace` and `render` begin with. Warnings of the run become notes.
std::shared_ptr<const trace::Trace> run_text(const ModelArgument&, const TextArguments&, const ComputeOptions&,
                                             const trace::CapturePlan&, const Console&);

}  // namespace headlight::cli
