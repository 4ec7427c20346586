// SPDX-License-Identifier: GPL-3.0-or-later
// A direction on the residual stream followed back to everything that wrote into it.
#pragma once

#include "headlight/analyze/prediction/attribution.h"
#include "headlight/model/classes.h"

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
    at::Tensor scale;       ///< of one position a number, of several [position, 1, 1]
    bool centred = true;
    /// Directions [..., d_model] in front of the norm that read what these read behind it.
    at::Tensor back(const at::Tensor& directions) const;
    /// What they read of the bias: [...].
    at::Tensor of_bias(const at::Tensor& directions) const;
    /// A difference of streams [d_model] taken through the norm.
    at::Tensor forward(const at::Tensor& change) const;
};
FrozenNorm frozen_norm(const trace::Trace&, model::Hook scale, Layer, Position);
FrozenNorm frozen_norms(const trace::Trace&, model::Hook scale, Layer, std::int64_t first, std::int64_t count);

/// FrozenNorm::back() of one direction; what it reads of the bias is added to `constant`.
at::Tensor before_norm(const trace::Trace&, model::Hook scale, Layer, Position, const at::Tensor& direction, double& constant);

/// The direct logit (difference) as a reading of the last stream.
StreamReading logit_reading(const trace::Trace&, const model::ReadRow&, const AttributionOptions&);

/// What is read at the output of every layer's attention, and at that of its attention to a source: [position, reading, d_model],
/// of one reading at one position [d_model].
struct Directions {
    std::vector<at::Tensor> attention, cross;
};
/// Numbers that are linear in the stream, at several positions.
struct StreamReadings {
    at::Tensor directions;  ///< [position, reading, d_model] float64
    at::Tensor constants;   ///< [position, reading]
    Layer layer;            ///< as of a StreamReading; -1: the embedding
    bool behind_mlp = true, behind_attention = true;
    bool splits_embedding = true;  ///< BLOOM's embedding apart from the bias of its norm
};
/// What a part of the stream gives them, or the heads or neurons of a layer do.
struct PartReadings {
    Component component = Component::embed;
    std::int64_t layer = -1;
    at::Tensor values;     ///< [position, reading, part]
    bool indexed = false;  ///< of heads or neurons: parts have numbers
};
/// Splits the readings at positions from `first` on, in the order of the pass; the constants are the last part. `attention`: what
/// they are at the output of each layer's attention, [position, reading, d_model].
std::vector<PartReadings> split_readings(const trace::Trace&, std::int64_t first, const StreamReadings&,
                                         std::vector<at::Tensor>* attention = nullptr);
/// Splits the reading at a position. Leaves the directions if asked for.
Decomposition split_reading(const trace::Trace&, Position, const StreamReading&, bool neurons, Directions* directions = nullptr);

/// What the direction at its layer's attention output reads of each token through a head: [key] float64. The trace is the
/// head's own: of a head that reads a source, the one of the cross attention.
at::Tensor sources_of(const trace::Trace&, HeadId, Position, const at::Tensor& direction);

}  // namespace headlight::analyze
