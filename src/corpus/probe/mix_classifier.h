// SPDX-License-Identifier: GPL-3.0-or-later
// Classifiers of mixed layers while they are fitted (layer_mix.h).
#pragma once

#include "headlight/corpus/probe/layer_mix.h"

#include <ATen/ATen.h>

#include <memory>

namespace headlight::corpus {

at::Tensor mix_indices(std::span<const std::int64_t>);

/// What all fits read.
class MixData {
public:
    /// Error for a state that is not finite.
    MixData(const LayerMixTask&, const CancelToken&);
    /// Standardised states [row, d] of a layer.
    at::Tensor rows(std::int64_t layer, const at::Tensor& rows) const;

    const LayerMixTask& task;
    std::int64_t width;
    at::Tensor labels;  ///< [example]

private:
    std::vector<at::Tensor> states_, mean_, scale_;  ///< [layer]
};

class MixClassifier {
public:
    virtual ~MixClassifier() = default;
    /// All in one tensor, for Adam.
    virtual at::Tensor& weights() = 0;
    /// Fills gradient() with that of the mean loss of the examples.
    virtual void learn(const at::Tensor& examples) = 0;
    virtual const at::Tensor& gradient() const = 0;
    virtual double loss(const at::Tensor& examples) const = 0;  ///< its sum, without dropout
    virtual at::Tensor predicted(const at::Tensor& examples) const = 0;
    virtual at::Tensor raw() const = 0;  ///< [layer] s, of which the weights of the layers are the softmax
};

std::unique_ptr<MixClassifier> linear_of_mixture(const MixData&, std::int64_t layers, std::uint64_t seed);
/// Its weights in this order, matrices [out, in]: s [layer] and gamma of the mixture; for each span the projection, its bias and
/// v; the hidden layer and its bias; factor and shift of the norm; the output and its bias.
std::unique_ptr<MixClassifier> edge_of_mixture(const MixData&, const EdgeClassifier&, std::int64_t layers, std::uint64_t seed);

}  // namespace headlight::corpus
