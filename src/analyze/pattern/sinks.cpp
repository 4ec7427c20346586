// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/pattern/sinks.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/trace/tensors.h"

namespace headlight::analyze {

Vector sink_shares(const trace::Trace& trace, HeadId id) {
    check_head(trace, id);
    if (!trace.config().attention_sinks) return {};
    return to_vector(trace::tensor(trace, {model::Hook::sink, id.layer}).select(0, id.head.value));
}

}  // namespace headlight::analyze
