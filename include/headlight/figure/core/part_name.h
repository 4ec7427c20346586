// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/prediction/attribution.h"
#include "headlight/figure/core/figure.h"

#include <QString>

namespace headlight::figure {

/// "L5H7", or "L5H7 cross" of an attention to a source.
QString head_part(HeadId, bool cross);
/// A part of the stream by its place: "L5H7", "L0 MLP", "embedding". Without an index the heads of a layer together, without a
/// layer those of all.
QString part_name(analyze::Component, std::int64_t layer, std::int64_t index);

}  // namespace headlight::figure
