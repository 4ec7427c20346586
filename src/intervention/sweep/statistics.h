// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/intervention/sweep/sweep.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::intervention {

/// [pair] the group that it is drawn with: pairs without a name stand for themselves.
std::vector<std::int64_t> groups_of(const std::vector<SweepPair>&);
/// Of the mean over pairs, [pair] with NaN where a pair has no value, clustered by group: sqrt(G / (G - 1) sum over groups (sum
/// of deviations from the mean)^2) / pairs; where every pair is its own group, the standard deviation / sqrt(pairs). NaN below
/// two groups.
double standard_error(std::span<const double> values, const std::vector<std::int64_t>& groups);

/// From the effects of every pair to means, intervals and the band of all cells.
void summarise(SweepResult&, const std::vector<SweepPair>&);

}  // namespace headlight::intervention
