// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "model/load/weight_source.h"

namespace headlight::model {

/// Puts a tensor, as it is stored, where the pass reads it: in `l`, its layer, or in the model. Tensors without memory (meta)
/// leave outlines; a part of a matrix replaces the outline of the whole. True if the numbers there are others than the stored.
bool place(Model::Internals& m, LayerWeights& l, const ResolvedRow&, at::Tensor);

}  // namespace headlight::model
