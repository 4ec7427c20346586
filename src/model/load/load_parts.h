// SPDX-License-Identifier: GPL-3.0-or-later
// The two other parts of an encoder-decoder model when its decoder has been loaded.
#pragma once

#include "model/internals.h"

#include <memory>

namespace headlight::model {

/// Puts the encoder's parameters behind the decoder's; left over is only what neither asked for.
void add_report_of_encoder(LoadReport& whole, const LoadReport& encoder);

/// The attentions to the encoder's output as a stack of their own (Stack::cross), in the decoder's memory.
std::unique_ptr<Model::Internals> cross_attentions_of(const Model::Internals& decoder);

}  // namespace headlight::model
