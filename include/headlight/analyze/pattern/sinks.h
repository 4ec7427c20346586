// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"

namespace headlight::analyze {

/// Share of every query's softmax that goes to no key, because the head has a learned score of its own in it (GPT-OSS's
/// attention sinks): [query]. With the weights of the keys it is 1. Empty in models without them.
Vector sink_shares(const trace::Trace&, HeadId);

}  // namespace headlight::analyze
