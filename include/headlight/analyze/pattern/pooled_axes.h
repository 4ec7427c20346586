// SPDX-License-Identifier: GPL-3.0-or-later
// Maps of texts that are too long for a cell of each pair.
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"

namespace headlight::analyze {

/// The axes of a picture pooled to `side` cells a side: each item stands for the tokens of its cell, named by its first position,
/// the first and the last.
PatternAxes pooled_axes(const PatternAxes&, std::int64_t side);
/// pooled_pattern() that can be cancelled: at thousands of cells a side it takes long.
PooledMap pooled_pattern(const trace::Trace&, HeadId, const PatternOptions&, std::int64_t side, const CancelToken&);

}  // namespace headlight::analyze
