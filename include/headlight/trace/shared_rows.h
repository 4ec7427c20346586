// SPDX-License-Identifier: GPL-3.0-or-later
// A text that is typed on: only the tokens from the first other one on are run again.
#pragma once

#include "headlight/trace/capture.h"
#include "headlight/trace/trace.h"

namespace headlight::trace {

/// run(), for whose first rows those of `earlier` are taken as far as the tokens are the same. Patterns are made again for the
/// overview, whose cells move with the length of the text. The trace is that of run() to rounding, and so are the layers that it
/// makes again (remade.h). It is run() itself where `earlier` is null, edited or of another model, where it lacks what is to be
/// kept, in models that are not causal or have an encoder, where scores or patterns are to be kept, where rotation depends on the
/// length (dynamic scaling; longrope across its border), and where the rows in common are fewer than 32 or a quarter of the text.
std::shared_ptr<const Trace> run_after(const std::shared_ptr<const Trace>& earlier, std::shared_ptr<const model::Model>,
                                       std::shared_ptr<const text::Tokenizer>, const Prompt&, const CapturePlan&,
                                       const CancelToken& = {}, const Progress& = {});
/// How many of the run's first rows it took from an earlier one.
std::int64_t shared_rows_of(const Trace&) noexcept;

}  // namespace headlight::trace
