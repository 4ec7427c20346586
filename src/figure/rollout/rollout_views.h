// SPDX-License-Identifier: GPL-3.0-or-later
// Attention through the layers, and several heads as one map.
#pragma once

#include "headlight/analyze/pattern/aggregate.h"
#include "headlight/analyze/rollout/rollout.h"
#include "headlight/base/job.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure {

struct RolloutViewOptions {
    bool flow = false;                ///< attention flow in place of rollout: short texts only
    bool all_layers = false;          ///< a map of each layer up to this one, side by side
    std::optional<Head> head{};       ///< rollout: this head's own pattern as the last step
    bool by_receptive_field = false;  ///< causal models; others: Error
    bool sums = false;                ///< sums of rows and columns beside the map
};
/// Query x key map of what a token holds after a layer, by the input it is from. Slow: call it from a worker.
std::unique_ptr<Figure> rollout_view(TracePtr, Layer, const RolloutViewOptions&, const CancelToken& = {}, const Progress& = {});

/// Strongest colour of [query, key] maps, (0, 1]: what 97.5 % of the pairs are below, rounded up to two digits. The first token's
/// column and the first rows would leave all others pale. Of more than `most` pairs every so many count.
double full_of(const std::vector<analyze::Matrix>& maps, bool causal, Eigen::Index most = 1 << 26);

struct PathsViewOptions {
    bool flow = false;
    double least = 0.01;  ///< thinner ribbons and nodes, as a share of the whole, are not drawn but counted
};
/// From one token after a layer back to the input: a column a layer, a node a token, a ribbon between them as wide as
/// what is handed down. Flow: to `key`, by default to the input that most flows to.
std::unique_ptr<Figure> paths_view(TracePtr, Layer, Position query, std::optional<Position> key, const PathsViewOptions&,
                                   const CancelToken& = {});

/// Mean or maximum of several heads, of any layers, as one map; with sums of its rows and columns beside it.
std::unique_ptr<Figure> aggregate_matrix_view(TracePtr, const std::vector<HeadId>&, analyze::Aggregate,
                                              const analyze::PatternOptions&, bool sums, const CancelToken& = {},
                                              const std::string& view = "aggregate");

}  // namespace headlight::figure
