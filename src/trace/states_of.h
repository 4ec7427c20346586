// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/variants.h"
#include "model/run/stacked.h"

namespace headlight::trace {

/// The encoder's output; undefined for models of one stack.
at::Tensor states_of(const model::Model&, const TokenIds&, model::Observer&, const CancelToken&);

}  // namespace headlight::trace
