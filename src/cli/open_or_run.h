// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/run_text.h"

namespace headlight::cli {

/// The trace that MODEL names, when it is a saved one (no text is given then), else a run of the model.
std::shared_ptr<const trace::Trace> open_or_run(const ModelArgument&, const TextArguments&, const ComputeOptions&,
                                                const trace::CapturePlan&, const Console&);

}  // namespace headlight::cli
