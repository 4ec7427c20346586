// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"
#include "headlight/intervention/sweep/sweep.h"

#include <memory>

namespace headlight::figure {

using SweepPtr = std::shared_ptr<const intervention::SweepResult>;

/// A heat map of every cell of a sweep, one panel a site (edges: one a head), on a scale that is symmetric around 0 and shared by
/// all panels. Cells whose interval holds 0 are faint, cells without a value hatched.
std::unique_ptr<Figure> sweep_figure(SweepPtr);

}  // namespace headlight::figure
