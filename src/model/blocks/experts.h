// SPDX-License-Identifier: GPL-3.0-or-later
// An MLP of experts (Experts in config.h): a router chooses, and only the chosen experts are computed.
#pragma once

#include "model/blocks/pass.h"

namespace headlight::model {

/// The output of the MLP, before any norm after it: [pos, d_model]. Visits router, experts, shared_gate and the MLP's own
/// hooks; these are [pos, hidden units of all experts], 0 where an expert was not chosen.
at::Tensor experts(Pass&, Layer, const at::Tensor& x);

/// The same hook_post from kept tensors: [pos, hidden units]. `shared_gate` is undefined where the model has none.
at::Tensor expert_post(const ModelConfig&, const at::Tensor& pre, const at::Tensor& pre_linear, const at::Tensor& experts,
                       const at::Tensor& shared_gate);

}  // namespace headlight::model
