// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/model.h"
#include "model/run/forward.h"

#include <memory>
#include <optional>
#include <string>

namespace headlight::trace {

/// What products in bfloat16 (ComputeType::float32_bf16) change in a pass, against the same pass in float32.
struct ProductsError {
    std::int64_t tokens = 0;           ///< of the pass
    double stream = 0;                 ///< rms of the difference of the last layer's stream, over the stream's rms
    double weight = 0;                 ///< largest difference of an attention weight of any head
    std::optional<double> same_token;  ///< share of positions with the same most likely token; nothing without an unembedding
    std::string text() const;          ///< one line, for people
};

/// Measured on the first tokens of the text (at most 128) by two short passes; those of the latest texts are kept with the model.
std::shared_ptr<const ProductsError> products_error(const model::Model&, model::ForwardInput, const CancelToken&);

}  // namespace headlight::trace
