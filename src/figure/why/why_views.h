// SPDX-License-Identifier: GPL-3.0-or-later
// Why a head attends from one token to another: the parts that wrote the query against those that wrote the key.
#pragma once

#include "headlight/analyze/why/why.h"
#include "headlight/figure/core/figure.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <memory>
#include <optional>

namespace headlight::figure {

/// Without a query or a key those of analyze::why_options().
std::unique_ptr<Figure> why_view(TracePtr, HeadId, std::optional<Position> query, std::optional<Position> key,
                                 const analyze::WhyRequest&, const CancelToken& = {});

}  // namespace headlight::figure
