// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/variants.h"
#include "model/run/stacked.h"

namespace headlight::trace {

/// The variant as a stack takes it. Error for a hook that cannot be batched.
model::Variant stacked_variant(const model::ModelConfig&, const Variant&);
/// The encoder's output; undefined for models of one stack.
at::Tensor states_of(const model::Model&, const TokenIds&, model::Observer&, const CancelToken&);

}  // namespace headlight::trace
