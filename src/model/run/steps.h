// SPDX-License-Identifier: GPL-3.0-or-later
// The steps of a pass.
#pragma once

#include "model/blocks/pass.h"

#include <functional>

namespace headlight::model {

/// The pass with its tables. Errors of forward() about its input. `earlier`: of the tokens before those of the input.
Pass start_pass(const Model::Internals&, const ForwardInput&, Observer&, KvCache*, const EarlierRows* earlier = nullptr);
/// What enters the first layer.
at::Tensor embed(Pass&);
/// From resid_pre to resid_post; undefined where the pass ends before. Error where a number is not finite. `before_mlp` may leave
/// out rows of a stack.
at::Tensor run_layer(Pass&, Layer, at::Tensor x, const std::function<at::Tensor(const at::Tensor&)>& before_mlp = {});
/// All of it, as far as anybody reads; with `result` to the end, whose stream is returned. Checks for cancellation before each
/// layer, reports "layer". With `x` only from layer `first` on, which reads it.
at::Tensor run_pass(Pass&, bool result, const Progress&, Layer first = {}, at::Tensor x = {});
/// The blocks after the last layer; logits where the model has them.
at::Tensor finish(Pass&, at::Tensor x);
/// x W_U + b with the cap of the model's logits: all columns of the unembedding, or some.
at::Tensor logits_with(const ModelConfig&, const Linear& unembed, const at::Tensor& x);

}  // namespace headlight::model
