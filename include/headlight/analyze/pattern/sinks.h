// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"

#include <memory>
#include <vector>

namespace headlight::analyze {

/// Share of every query's softmax that goes to no key, because the head has a learned score of its own in it (GPT-OSS's
/// attention sinks): [query]. With the weights of the keys it is 1. Empty in models without them.
Vector sink_shares(const trace::Trace&, HeadId);

/// Which keys are attention sinks on this text, [key]: the first one, and those to which at least a tenth of all heads give
/// more than 0.3 of their attention, as a mean over the other queries that see them (Gu et al. 2025, When Attention Sink
/// Emerges in Language Models), though their values are less than half as long as those of the head's other keys, so that
/// little comes of it. Four such queries at least; in a long text 64, spread evenly, stand for all. Of a trace
/// without values (attention computed elsewhere) only the first key is known to be one. Kept with the trace.
std::shared_ptr<const std::vector<bool>> attention_sinks(const trace::Trace&, const CancelToken& = {});

}  // namespace headlight::analyze
