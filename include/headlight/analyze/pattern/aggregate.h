// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/job.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

enum class Aggregate { mean, max };
inline constexpr EnumRow<Aggregate> aggregates[] = {{Aggregate::mean, "mean", "Mean"}, {Aggregate::max, "max", "Maximum"}};
constexpr const auto& enum_rows(Aggregate) { return aggregates; }

/// Mean or maximum of several heads' prepared maps, cell by cell: [axes.queries, axes.keys]. Heads may be of any
/// layers; a head that is named twice counts once. The mean's rows sum to 1 where the heads' do, the maximum's do not.
/// Error when no head is named or one does not exist.
Matrix aggregate_pattern(const trace::Trace&, const std::vector<HeadId>&, Aggregate, const PatternOptions& = {},
                         const CancelToken& = {}, const Progress& = {});

/// The same, pooled to at most `side` cells a side as pooled_pattern() does it; `head` of the result means nothing.
PooledMap pooled_aggregate(const trace::Trace&, const std::vector<HeadId>&, Aggregate, const PatternOptions& = {},
                           std::int64_t side = 128, const CancelToken& = {});

}  // namespace headlight::analyze
