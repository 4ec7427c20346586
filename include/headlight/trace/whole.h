// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/trace.h"

#include <memory>

namespace headlight::trace {

/// The run that a trace is a part of (Trace::part), or the trace itself. Error when nobody holds the run any more: a part
/// does not.
std::shared_ptr<const Trace> whole_of(const std::shared_ptr<const Trace>&);

}  // namespace headlight::trace
