// SPDX-License-Identifier: GPL-3.0-or-later
// Where each measure of a head comes from.
#pragma once

#include "headlight/analyze/heads/head_table.h"

namespace headlight::analyze {

/// What heads add to the stream: [layer, head], means over queries. NaN when the trace kept no z or resid_pre.
struct HeadUpdates {
    Eigen::MatrixXd magnitude;    ///< |u_i| / |h_i|, u_i = z_i W_O of the head, h_i = resid_pre
    Eigen::MatrixXd orientation;  ///< cosine of u_i and h_i
    Eigen::MatrixXd inner;        ///< |z_i| / |h_i|
};
/// Row 0 of causal models is left out unless it is asked for; rows where either length is 0 are skipped.
HeadUpdates head_updates(const trace::Trace&, bool with_first_row);

struct Measure {
    MeasureInfo info;
    double trace::HeadSummary::*field = nullptr;     ///< gathered during the run
    Eigen::MatrixXd HeadUpdates::*update = nullptr;  ///< computed afterwards; neither: over several texts
};

/// The one list of measures: order of the columns everywhere.
const std::vector<Measure>& measure_list();

}  // namespace headlight::analyze
