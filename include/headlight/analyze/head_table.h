// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/head_query.h"
#include "headlight/base/ids.h"
#include "headlight/trace/trace.h"

#include <Eigen/Core>

#include <string>
#include <string_view>
#include <vector>

namespace headlight::analyze {

/// A measure that every head has on the current text.
struct MeasureInfo {
    std::string id;            ///< "induction": column name in CSV and in finder expressions
    std::string title;         ///< "induction score"
    std::string definition;    ///< one sentence with the formula and source
    std::string unit;          ///< "nats", "tokens", "share" or ""
    double low = 0, high = 1;  ///< natural range; high may be data-driven (NaN)
};

/// Values of all measures for all heads; NaN where a measure does not exist for this text.
struct HeadTable {
    std::int64_t n_layers = 0, n_heads = 0;
    std::vector<MeasureInfo> measures;
    std::vector<Eigen::MatrixXd> values;  ///< per measure [layer, head]

    const Eigen::MatrixXd* find(std::string_view measure_id) const noexcept;
};

/// The measures of HeadTable without values: ids, titles, definitions, units (docs/measures.md).
const std::vector<MeasureInfo>& head_measures();
/// From the summaries that the run left. Error when the run kept no overview.
HeadTable head_table(const trace::Trace&);

/// A head worth looking at first: highest induction if any is above 0.3, else the most focused head past layer 0 that
/// does not mainly look at the first token or itself.
HeadId interesting_head(const HeadTable&);
/// A query and key of that head to show first: the largest weight off the first token and itself, special tokens only
/// when nothing else is left. A pair that shows induction (the key stands right behind an earlier copy of the query)
/// with a weight above 0.3 comes before all others. One token: that token twice.
struct InterestingPair {
    Position query, key;
};
InterestingPair interesting_pair(const trace::Trace&, HeadId);

}  // namespace headlight::analyze
