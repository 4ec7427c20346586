// SPDX-License-Identifier: GPL-3.0-or-later
// Attention through the layers, and several heads as one map.
#pragma once

#include "figure/core/shared_options.h"
#include "headlight/analyze/pattern/aggregate.h"
#include "headlight/analyze/rollout/rollout.h"
#include "headlight/base/job.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure {

/// The window's layer is that of the selected heads; attention across layers is mostly wanted up to the last one.
enum class UpTo { last, chosen };
inline constexpr EnumRow<UpTo> up_tos[] = {{UpTo::last, "last", "The last layer"}, {UpTo::chosen, "chosen", "The chosen layer"}};
constexpr const auto& enum_rows(UpTo) { return up_tos; }
inline constexpr Field kUpTo = Field{"up-to", "Up to", "without --layer: up to the last layer, or that of an interesting head"};

struct RolloutViewOptions {
    UpTo up_to = UpTo::last;          ///< where no layer is named
    bool flow = false;                ///< attention flow in place of rollout: short texts only
    bool all_layers = false;          ///< a map of each layer up to this one, side by side
    bool by_receptive_field = false;  ///< causal models; others: Error
    bool sums = false;                ///< sums of rows and columns beside the map
    std::int64_t last_head = -1;      ///< rollout: this head's own pattern as the last step; -1: the mean of all
};
void describe(Describes<RolloutViewOptions> auto& r, const auto& field) {
    field(kUpTo, r.up_to);
    field(Field{"all-layers", "Every layer up to this one", "a map of each layer up to --layer"}, r.all_layers);
    field(analyze::kByReceptiveField, r.by_receptive_field);
    field(kSums, r.sums);
    if (!r.flow)
        field(
            Field{"last-head", "Last step by one head", "the last step by this head alone; -1: the mean of all"}.within(-1, 4096),
            r.last_head);
}
struct PathsViewOptions {
    UpTo up_to = UpTo::last;
    bool flow = false;
    double least = 0.01;  ///< thinner ribbons and nodes, as a share of the whole, are not drawn but counted
};
void describe(Describes<PathsViewOptions> auto& r, const auto& field) {
    field(kUpTo, r.up_to);
    field(Field{"least", "Thinnest ribbon", "ribbons and nodes below this share of the whole are counted, not drawn"}.within(
              0.0001, 1),
          r.least);
}
struct AggregateRequest {
    analyze::Aggregate together = analyze::Aggregate::mean;
    std::string layers{};
    bool sums = false;
};
void describe(Describes<AggregateRequest> auto& r, const auto& field) {
    field(Field{"together", "Combine by", "several heads as one map: their mean or their maximum"}, r.together);
    field(kLayers, r.layers);
    field(kSums, r.sums);
}

/// Query x key map of what a token holds after a layer, by the input it is from. Slow: call it from a worker.
std::unique_ptr<Figure> rollout_view(TracePtr, Layer, const RolloutViewOptions&, const CancelToken& = {}, const Progress& = {});

/// Strongest colour of [query, key] maps, (0, 1]: what 97.5 % of the pairs are below, rounded up to two digits. The first token's
/// column and the first rows would leave all others pale. Of more than `most` pairs every so many count.
double full_of(const std::vector<analyze::Matrix>& maps, bool causal, Eigen::Index most = 1 << 26);

/// From one token after a layer back to the input: a column a layer, a node a token, a ribbon between them as wide as
/// what is handed down. Flow: to `key`, by default to the input that most flows to.
std::unique_ptr<Figure> paths_view(TracePtr, Layer, Position query, std::optional<Position> key, const PathsViewOptions&,
                                   const CancelToken& = {});

/// Mean or maximum of several heads, of any layers, as one map; with sums of its rows and columns beside it.
std::unique_ptr<Figure> aggregate_matrix_view(TracePtr, const std::vector<HeadId>&, analyze::Aggregate,
                                              const analyze::PatternOptions&, bool sums, const CancelToken& = {},
                                              const std::string& view = "aggregate");

}  // namespace headlight::figure
