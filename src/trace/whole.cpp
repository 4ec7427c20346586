// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/whole.h"

#include "headlight/base/error.h"
#include "trace/internals.h"

namespace headlight::trace {

std::shared_ptr<const Trace> whole_of(const std::shared_ptr<const Trace>& trace) {
    const model::Stack stack = trace->config().stack;
    if (stack != model::Stack::encoder && stack != model::Stack::cross) return trace;
    if (auto whole = trace->internals().whole.lock()) return whole;
    throw Error({.problem = "The run that this attention is a part of is gone",
                 .item = trace->config().name,
                 .hint = "Run the text again"});
}

std::shared_ptr<const Trace> own_parts(std::shared_ptr<const Trace> run) {
    for (const auto& part : {run->internals().encoder, run->internals().cross})
        if (part) part->internals().whole = run;
    return run;
}

}  // namespace headlight::trace
