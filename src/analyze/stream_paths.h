// SPDX-License-Identifier: GPL-3.0-or-later
// A direction on the residual stream followed back to everything that wrote into it.
#pragma once

#include "headlight/analyze/attribution.h"

#include <ATen/ATen.h>

#include <vector>

namespace headlight::analyze {

/// A number that is linear in the stream at one place: direction . stream + constant.
struct Reading {
    at::Tensor direction;  ///< [d_model] float64
    double constant = 0;
    Layer layer;           ///< the stream behind this layer's …
    bool behind_mlp = true;///< … MLP, or behind its attention
    bool behind_attention = true;  ///< false: in front of the layer too (the MLP of a parallel model)
};

/// Norm as a linear map with the scale of the run: y = (x - mean) / scale * gain + bias.
struct FrozenNorm {
    at::Tensor gain, bias;  ///< float64; undefined: none
    double scale = 1;
    bool centred = true;
    /// Direction in front of the norm that reads what `direction` reads behind it; the bias goes into `constant`.
    at::Tensor back(const at::Tensor& direction, double& constant) const;
    /// A difference of streams [d_model] taken through the norm.
    at::Tensor forward(const at::Tensor& change) const;
};
FrozenNorm frozen_norm(const trace::Trace&, model::Hook scale, Layer, Position);

/// The direct logit (difference) as a reading of the last stream.
Reading logit_reading(const trace::Trace&, Position, const AttributionOptions&);

/// Splits the reading at a position. Directions at every layer's attention output are left in `at_attention` if given.
Split split_reading(const trace::Trace&, Position, const Reading&, bool neurons,
                    std::vector<at::Tensor>* at_attention = nullptr);

/// What the direction at its layer's attention output reads of each source token through a head: [token] float64.
at::Tensor sources_of(const trace::Trace&, HeadId, Position, const at::Tensor& direction);

}  // namespace headlight::analyze
