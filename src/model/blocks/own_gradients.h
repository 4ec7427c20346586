// SPDX-License-Identifier: GPL-3.0-or-later
// Operators that are recorded with gradients of our own. Attention keeps no pattern: the backward pass computes each tile again
// (as Rabe & Staats 2021 and Dao et al. 2022 do), where autograd by itself keeps about six numbers for each pair of tokens of
// every head. Products are those of the pass, where autograd's may come from a slower library.
#pragma once

#include "model/run/forward.h"

#include <functional>

namespace headlight::model {

/// True where product_with_gradient() can: a gradient of x alone is recorded, on the CPU in float32 or float64.
bool has_own_gradient(const at::Tensor& x, const at::Tensor& weight);
/// x W: [rows, in] -> [rows, out].
at::Tensor product_with_gradient(const at::Tensor& x, const at::Tensor& weight);

/// True where attend_with_gradient() can: gradients are recorded, on the CPU in float32 or float64, without DeBERTa's terms,
/// whose tables have gradients of their own.
bool has_own_gradient(const AttentionInput&, const at::Tensor& v);

/// z [query, head, d_value], of which q, k and v get their gradients. `attend`: fills the z of an input without gradients.
at::Tensor attend_with_gradient(const AttentionInput&, const at::Tensor& v, const CancelToken&,
                                const std::function<void(const AttentionInput&, const at::Tensor& v, at::Tensor& z)>& attend);

}  // namespace headlight::model
