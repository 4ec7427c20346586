// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/aggregate.h"
#include "headlight/base/ids.h"

#include <QString>

#include <vector>

namespace headlight::figure {

/// "mean of 8 heads of layer 4", "maximum of L2H1, L3H5"
QString aggregate_name(analyze::Aggregate, const std::vector<HeadId>&);

}  // namespace headlight::figure
