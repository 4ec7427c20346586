// SPDX-License-Identifier: GPL-3.0-or-later
// Many variants of one text in one pass. Internal to src/model and src/trace.
#pragma once

#include "model/run/forward.h"

#include <functional>
#include <vector>

namespace headlight::model {

/// A text with other tokens, another source, or one attention whose weights at a position stand in another order.
struct Variant {
    std::vector<std::int64_t> ids{};     ///< as many as the text has; empty: its own
    std::vector<std::int64_t> source{};  ///< likewise of the encoder's text
    HookPoint pattern{};                 ///< Hook::pattern or Hook::cross_pattern of a layer, where there is an order
    at::Tensor order{};                  ///< [head, key] int64: weight j becomes weight order[j]; undefined: as they are
};

/// Rows that a variant adds to the stack: those from its first difference on in a causal model, else all.
std::int64_t rows_of(const ModelConfig&, const ForwardInput&, std::int64_t position, const Variant&);
/// Rows worth stacking: a layer's products over them take some 50 ms.
std::int64_t rows_at_once(const ModelConfig&);

/// Logits at a position of the text itself and of each variant, [1 + variant, vocab], those of forward() to rounding; a
/// difference between two of them is free of the rounding that another product's shape would bring. A variant costs its own rows
/// from its own layer on; everything else is the text's, which is `input` with the result of encode_stacked() as its source: one
/// of the text and one of each variant that names another. Checks for cancellation before each layer, then calls `layer_done`.
at::Tensor forward_stacked(const Model&, const ForwardInput& input, const at::Tensor& sources, std::int64_t position,
                           const std::vector<Variant>&, const CancelToken&, const std::function<void(Layer)>& layer_done = {});

/// encode() of a source and of each variant's, in this order: [source, token, d_model].
at::Tensor encode_stacked(const Model& encoder, const std::vector<std::int64_t>& source, const std::vector<Variant>&,
                          const CancelToken&);

}  // namespace headlight::model
