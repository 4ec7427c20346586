// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>

namespace headlight::analyze {

/// Spearman's rho: Pearson correlation of the ranks, ties sharing their mean rank. Pairs with a NaN are left out; NaN
/// for fewer than two pairs and where one side is constant.
double spearman(std::span<const double> x, std::span<const double> y);
/// Kendall's tau-b: (concordant - discordant) / sqrt((pairs - ties in x) (pairs - ties in y)). Gaps as above.
double kendall(std::span<const double> x, std::span<const double> y);

}  // namespace headlight::analyze
