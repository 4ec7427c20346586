// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern_view.h"
#include "headlight/base/job.h"

#include <vector>

namespace headlight::analyze {

enum class Aggregate { mean, max };

/// Mean or maximum of several heads' prepared maps, cell by cell: [axes.queries, axes.keys]. Heads may be of any
/// layers; a head that is named twice counts once. The mean's rows sum to 1 where the heads' do, the maximum's do not.
/// Error when no head is named or one does not exist.
Matrix aggregate_pattern(const trace::Trace&, const std::vector<HeadId>&, Aggregate, const PatternOptions& = {},
                         const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::analyze
