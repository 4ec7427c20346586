// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/pattern/aggregate.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/pattern/pooling.h"
#include "headlight/analyze/contribution/value_mix.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <set>

namespace headlight::analyze {

Matrix aggregate_pattern(const trace::Trace& trace, const std::vector<HeadId>& heads, Aggregate how,
                         const PatternOptions& options, const CancelToken& cancel, const Progress& progress) {
    const std::set<HeadId> once(heads.begin(), heads.end());
    if (once.empty()) throw Error(ErrorFacts{.problem = "There is no head to combine", .expected = "at least one head"});
    for (const HeadId id : once) check_head(trace, id);
    const MapLayout layout = map_layout(token_facts(trace), key_facts(trace, options), options);
    Matrix result(std::ssize(layout.queries), std::ssize(layout.keys));
    std::int64_t done = 0;
    for (auto at = once.begin(); at != once.end();) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Putting heads together", "head", done, static_cast<std::int64_t>(once.size())});
        // Heads whose map is their layer's are read once and count each.
        const auto next = of_whole_layer(options.weighting)
                              ? std::find_if(at, once.end(), [&](HeadId other) { return other.layer != at->layer; })
                              : std::next(at);
        const auto times = std::distance(at, next);
        const auto add = [&](std::int64_t row, const float* prepared) {
            const Eigen::Map<const Eigen::RowVectorXf> from(prepared, result.cols());
            auto to = result.row(row);
            if (at == once.begin()) to = from;
            for (auto time = at == once.begin() ? 1 : 0; time < times; ++time) {
                if (how == Aggregate::mean)
                    to += from;
                else
                    to = to.cwiseMax(from);
            }
        };
        for_each_prepared_row(trace, *at, layout, options.weighting, add, cancel);
        done += times;
        at = next;
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
