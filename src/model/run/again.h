// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of a pass once more, from what was kept of it.
#pragma once

#include "model/run/forward.h"

namespace headlight::model {

/// A layer of forward() from its resid_pre [pos, d_model]: everything that the observer is shown equals what it was shown in the
/// pass bit for bit. An observer that has seen enough may throw.
void forward_layer(const Model&, const ForwardInput&, Layer, const at::Tensor& resid_pre, Observer&, const CancelToken&);

/// forward() from a layer on, from its resid_pre [pos, d_model]; `first` may be one behind the last layer, of which this is then
/// the stream. What the observer is shown equals what it was shown in the whole pass bit for bit. With `result` the pass
/// goes to the end and returns what encode() returns.
at::Tensor forward_from(const Model&, const ForwardInput&, Layer first, const at::Tensor& stream, Observer&, bool result,
                        const CancelToken&, const Progress&);

/// The blocks behind the last layer but for the unembedding: what that reads, [pos, d_model].
at::Tensor behind_layers(const Model&, const ForwardInput&, const at::Tensor& resid_post, Observer&);
/// Logits of rows [first, first + count) of it, bit for bit those of the pass. The model has an unembedding.
at::Tensor logit_rows(const Model&, const at::Tensor& behind_layers, std::int64_t first, std::int64_t count);

}  // namespace headlight::model
