// SPDX-License-Identifier: GPL-3.0-or-later
// The views of patterns for layers that have an implied map in their place (model::has_implied_map).
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/figure.h"
#include "headlight/figure/core/request.h"

#include <memory>
#include <vector>

namespace headlight::figure {

/// All heads are of one layer; of several the mean is drawn. Errors: a layer with attention, options of softmax weights.
std::unique_ptr<Figure> implied_head_view(TracePtr, Layer, std::vector<Head>, const analyze::PatternOptions&, const CancelToken&);
std::unique_ptr<Figure> implied_matrix_view(TracePtr, std::vector<HeadId>, const analyze::PatternOptions&, bool sums,
                                            const CancelToken&);
/// Heads of layers with attention have no map.
std::unique_ptr<Figure> implied_model_view(TracePtr, const analyze::PatternOptions&, const CancelToken&);

}  // namespace headlight::figure
