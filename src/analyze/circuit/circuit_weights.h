// SPDX-License-Identifier: GPL-3.0-or-later
// Matrices of a head for the analyses that need no text.
#pragma once

#include "headlight/base/ids.h"
#include "headlight/model/model.h"
#include "headlight/trace/weights.h"

#include <ATen/ATen.h>

namespace headlight::analyze {

/// Error for a head that the model has not.
void check_head(const model::Model&, HeadId);
/// Error for post-norm models: no norm stands in front of their sub-layers.
void check_foldable(const model::Model&);

/// diag(gain) W, columns centred behind a LayerNorm: what x W is after (x - mean) / scale has been taken from x.
/// W [d_model, ...] of any type.
at::Tensor folded(const model::Model&, const trace::NormTensors&, const at::Tensor& w);

/// float64 on the CPU.
struct HeadMatrices {
    at::Tensor q, k;  ///< [d_model, d_head]; of latent attention the content alone, as trace::AttentionTensors has them
    at::Tensor v;     ///< [d_model, d_value]
    at::Tensor o;     ///< [d_value, d_model]
    std::int64_t kv_head = 0;
    /// Latent attention: x times these is what the norm of the queries' (keys' and values') latent divides by the length of:
    /// [d_model, rank]. Undefined: no such norm.
    at::Tensor q_latent{}, kv_latent{};
};
HeadMatrices head_matrices(const model::Model&, HeadId, bool fold_norms);

/// W_O [d_head, d_model] as the final norm passes it on: centred and times its gain, so that its product with W_U is
/// that with the folded W_U. As it is for models without such a norm.
at::Tensor through_final_norm(const model::Model&, const at::Tensor& w_o);

/// Tokens taken at a time where vocabulary-sized tables are read.
inline constexpr std::int64_t kTokenBlock = 4096;

}  // namespace headlight::analyze
