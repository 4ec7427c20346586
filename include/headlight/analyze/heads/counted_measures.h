// SPDX-License-Identifier: GPL-3.0-or-later
// The measures of head_table.h with the number of queries that each is a mean over, for means over many texts.
#pragma once

#include "headlight/trace/trace.h"

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace headlight::analyze {

struct CountedMeasures {
    std::vector<Eigen::MatrixXd> values;  ///< per head_measures() [layer, head]; NaN: the text has none
    std::vector<Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic>> rows;  ///< the same; 0 where the value is NaN
};
/// Of a run by run_encoded() whose queries before `first_counted` are context alone; row 0 of a causal model does not count.
/// Updates need hook_z and hook_resid_pre, else NaN, as are the measures of several texts and of the probe. Error without an
/// overview.
CountedMeasures counted_measures(const trace::Trace&, std::int64_t first_counted = 0);

}  // namespace headlight::analyze
