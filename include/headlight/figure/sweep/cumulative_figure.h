// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/export/export.h"
#include "headlight/intervention/sweep/cumulative.h"
#include "headlight/intervention/sweep/pairs.h"

#include <memory>

namespace headlight::figure {

/// The metric after the first head of an order, the first two …, with its interval, and the band of as many random heads.
std::unique_ptr<Figure> cumulative_figure(std::shared_ptr<const intervention::CumulativeResult>);

/// As sweep_provenance(), with the options of the request for several heads.
Provenance cumulative_provenance(const model::Model&, const intervention::SweepRequest&, const intervention::CumulativeRequest&,
                                 const std::string& dtype, const ExportOptions&, const std::string& format);

}  // namespace headlight::figure
