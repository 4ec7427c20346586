// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/pattern/aggregate.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/pattern/pooling.h"
#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/base/error.h"

#include <optional>
#include <set>

namespace headlight::analyze {

Matrix aggregate_pattern(const trace::Trace& trace, const std::vector<HeadId>& heads, Aggregate how,
                         const PatternOptions& options, const CancelToken& cancel, const Progress& progress) {
    const std::set<HeadId> once(heads.begin(), heads.end());
    if (once.empty()) throw Error(ErrorFacts{.problem = "There is no head to combine", .expected = "at least one head"});
    for (const HeadId id : once) check_head(trace, id);
    Matrix result, map;
    std::optional<Layer> layer;
    std::int64_t done = 0;
    for (const HeadId id : once) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Putting heads together", "head", done, static_cast<std::int64_t>(once.size())});
        if (layer != id.layer || !of_whole_layer(options.weighting)) map = pattern(trace, id, options);
        layer = id.layer;
        if (done++ == 0)
            result = map;
        else if (how == Aggregate::mean)
            result += map;
        else
            result = result.cwiseMax(map);
    }
    if (how == Aggregate::mean) result /= static_cast<float>(once.size());
    return result;
}

PooledMap pooled_aggregate(const trace::Trace& trace, const std::vector<HeadId>& heads, Aggregate how,
                           const PatternOptions& options, std::int64_t side, const CancelToken& cancel) {
    const Matrix whole = aggregate_pattern(trace, heads, how, options, cancel);
    const MapLayout layout = map_layout(token_facts(trace), key_facts(trace, options), options);
    Pooler pooler(whole.rows(), whole.cols(), side);
    for (Eigen::Index row = 0; row < whole.rows(); ++row)
        pooler.add(row, whole.data() + row * whole.cols(), legal_columns(layout, row, trace.config().causal));
    return pooler.result(heads.front());
}

}  // namespace headlight::analyze
