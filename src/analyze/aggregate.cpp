// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/aggregate.h"

#include "analyze/head_reader.h"
#include "headlight/base/error.h"

#include <set>

namespace headlight::analyze {

Matrix aggregate_pattern(const trace::Trace& trace, const std::vector<HeadId>& heads, Aggregate how,
                         const PatternOptions& options, const CancelToken& cancel, const Progress& progress) {
    const std::set<HeadId> once(heads.begin(), heads.end());
    if (once.empty())
        throw Error(ErrorFacts{.problem = "There is no head to put together", .expected = "at least one head"});
    for (const HeadId id : once) check_head(trace, id);
    Matrix result;
    std::int64_t done = 0;
    for (const HeadId id : once) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Putting heads together", "head", done, static_cast<std::int64_t>(once.size())});
        const Matrix map = pattern(trace, id, options);
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

}  // namespace headlight::analyze
