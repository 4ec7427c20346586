// SPDX-License-Identifier: GPL-3.0-or-later
// A direction on the residual stream followed back to everything that wrote into it.
#pragma once

#include "headlight/analyze/prediction/attribution.h"

#include <ATen/ATen.h>

#include <vector>

namespace headlight::analyze {

/// A number that is linear in the stream at one place: direction . stream + constant.
struct StreamReading {
    at::Tensor direction;  ///< [d_model] float64
    double constant = 0;
    double nonlinear = 0;          ///< what a head that was made linear at the run leaves of the number
    Layer layer;                   ///< the stream behind this layer's …
    bool behind_mlp = true;        ///< … MLP, or behind its attention
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
StreamReading logit_reading(const trace::Trace&, Position, const AttributionOptions&);

/// What is read at the output of every layer's attention, and at that of its attention to a source.
struct Directions {
    std::vector<at::Tensor> attention, cross;
};
/// Splits the reading at a position. Leaves the directions if asked for.
Decomposition split_reading(const trace::Trace&, Position, const StreamReading&, bool neurons, Directions* directions = nullptr);

/// What the direction at its layer's attention output reads of each token through a head: [key] float64. The trace is the
/// head's own: of a head that reads a source, the one of the cross attention.
at::Tensor sources_of(const trace::Trace&, HeadId, Position, const at::Tensor& direction);

}  // namespace headlight::analyze
