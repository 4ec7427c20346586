// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of what weights.h gives whole. Where weights are converted as they are used (model/as_used.h), each call there converts:
// take one layer at a time, let go of it, and ask here for what is small.
#pragma once

#include "headlight/trace/weights.h"

#include <cstdint>

namespace headlight::trace {

/// Vectors of a layer; no matrix is read for them.
struct LayerVectors {
    NormTensors attention, attention_branch, mlp, mlp_branch;  ///< norm and branch of attention_weights() and mlp_weights()
    at::Tensor b_o, b_out;                                     ///< [d_model]; undefined: none
};
LayerVectors layer_vectors(const model::Model&, Layer);

// Of tokens [first, first + count) alone:
at::Tensor embedding(const model::Model&, std::int64_t first, std::int64_t count);         ///< [count, …]
at::Tensor stream_embedding(const model::Model&, std::int64_t first, std::int64_t count);  ///< [count, d_model]
at::Tensor unembed(const model::Model&, std::int64_t first, std::int64_t count);           ///< [d_model, count]

}  // namespace headlight::trace
