// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/config.h"

#include <ATen/ATen.h>

namespace headlight::intervention {

/// Of the last axis: classes that do not exclude each other have a sigmoid each, tokens and other classes share a softmax.
inline at::Tensor log_probabilities(const model::ModelConfig& c, const at::Tensor& logits) {
    return c.class_head.independent ? at::log_sigmoid(logits) : at::log_softmax(logits, -1);
}

}  // namespace headlight::intervention
