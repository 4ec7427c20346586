// SPDX-License-Identifier: GPL-3.0-or-later
// The other two parts of an encoder-decoder model, made after its decoder has been loaded.
#pragma once

#include "model/internals.h"

#include <memory>

namespace headlight::model {

/// Appends the encoder's parameters; `unused` keeps only tensors that neither stack uses.
void add_report_of_encoder(LoadReport& whole, const LoadReport& encoder);

/// A decoder layer's attention to the source as a layer by itself.
LayerWeights cross_layer(const LayerWeights& decoder);
/// The cross attentions as a separate stack (Stack::cross) that shares the decoder's memory.
std::unique_ptr<Model::Internals> cross_attentions_of(const Model::Internals& decoder);

}  // namespace headlight::model
