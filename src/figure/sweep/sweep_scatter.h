// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/sweep/sweep_figure.h"

namespace headlight::figure {

/// The total effect of each cell against its direct one.
std::unique_ptr<Figure> sweep_scatter(SweepPtr);

}  // namespace headlight::figure
