// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/pattern/implied.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/pattern/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::analyze {

Matrix implied_map(const trace::Trace& trace, HeadId id, std::int64_t cells, const CancelToken& cancel) {
    check_head(trace, id);
    const std::int64_t tokens = trace.tokens(), side = std::clamp<std::int64_t>(cells, 1, tokens), block = row_block(trace);
    Matrix map = Matrix::Constant(side, side, std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t first = 0; first < tokens; first += block) {
        cancel.throw_if_cancelled();
        const std::int64_t count = std::min(block, tokens - first);
        const at::Tensor rows = plain(trace::implied_rows(trace, id.layer, id.head, first, count));
        for (std::int64_t i = first; i < first + count; ++i) {
            const float* row = rows.data_ptr<float>() + (i - first) * tokens;
            const std::int64_t r = pooled_cell(i, tokens, side);
            for (std::int64_t j = 0; j <= i; ++j) {
                float& cell = map(r, pooled_cell(j, tokens, side));
                if (!(std::abs(cell) >= std::abs(row[j]))) cell = row[j];
            }
        }
    }
    return map;
}

}  // namespace headlight::analyze
