// SPDX-License-Identifier: GPL-3.0-or-later
// Multi-head latent attention (DeepSeek-V2 2024, section 2.1).
#pragma once

#include "model/blocks/pass.h"

#include <array>

namespace headlight::model {

/// q, k and v of a layer that makes them of latents, with the hooks of latents, q, k and v: [head, pos, d_head],
/// [head, pos, d_head] and [head, pos, d_value], contiguous, before rotation. x [pos, d_model].
std::array<at::Tensor, 3> latent_qkv(Pass&, Layer, const at::Tensor& x);

}  // namespace headlight::model
