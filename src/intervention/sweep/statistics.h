// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/intervention/sweep/sweep.h"

namespace headlight::intervention {

/// From the effects of every pair to means, intervals and the band of all cells.
void summarise(SweepResult&, const std::vector<SweepPair>&);

}  // namespace headlight::intervention
