// SPDX-License-Identifier: GPL-3.0-or-later
// Figures about a model itself, whatever the text.
#pragma once

#include "headlight/analyze/architecture/kv_cache.h"
#include "headlight/figure/core/figure.h"
#include "headlight/model/model.h"
#include "headlight/model/tensor_stats.h"

#include <memory>

namespace headlight::figure {

/// Memory of the cache of keys and values against the context, for this model and what-if.
std::unique_ptr<Figure> kv_cache_view(const model::ModelConfig&, const analyze::KvCacheOptions&);

/// The model's blocks in their order with their shapes, and its parameters by part as a bar.
std::unique_ptr<Figure> architecture_view(std::shared_ptr<const model::Model>);

/// How the numbers of one tensor are spread: bins with their counts on a logarithmic scale.
std::unique_ptr<Figure> tensor_histogram(const model::TensorStats&);

}  // namespace headlight::figure
