// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/trace/trace.h"

#include <QString>

namespace headlight::figure {

/// "softmax weight, first token hidden, renormalised": the meaning of a number in a prepared map of a trace. Hidden sinks
/// beside the first token are named.
QString weight_name(const analyze::PatternOptions&, const trace::Trace&);

}  // namespace headlight::figure
