// SPDX-License-Identifier: GPL-3.0-or-later
// Directions that do not come from a run.
#pragma once

#include "intervention/recipe/sources.h"

namespace headlight::intervention {

/// [width] float64: of a file, a token's column of the unembedding, a neuron's row of W_out, the output of an OV circuit. Error:
/// what does not exist, another width, a number that is not finite.
at::Tensor direction_of(const Edit&, const model::Model&, const text::Tokenizer&, std::int64_t width);

}  // namespace headlight::intervention
