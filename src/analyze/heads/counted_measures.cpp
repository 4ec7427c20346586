// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/counted_measures.h"

#include "analyze/heads/head_measures.h"
#include "headlight/base/numbers.h"

#include <cmath>

namespace headlight::analyze {

CountedMeasures counted_measures(const trace::Trace& trace, std::int64_t first_counted) {
    const std::int64_t layers = trace.config().n_layers, heads = trace.config().n_heads;
    const std::size_t measures = head_measures().size();
    CountedMeasures out;
    out.values.assign(measures, Eigen::MatrixXd::Constant(layers, heads, kNaN));
    out.rows.resize(measures);
    for (auto& rows : out.rows) rows.setZero(layers, heads);
    const HeadUpdates updates = head_updates(trace, false, first_counted);
    for (std::int64_t layer = 0; layer < layers; ++layer)
        for (std::int64_t head = 0; head < heads; ++head) {
            const HeadId id{Layer(layer), Head(head)};
            const std::vector<double>& numbers = trace.head_numbers(id.layer, id.head);
            const std::vector<std::int64_t>& rows = trace::counted_rows(trace, id);
            for (std::size_t m = 0; m < measures; ++m) {
                const Eigen::MatrixXd* update = update_of(m, updates);
                const double value = update ? (*update)(layer, head) : numbers[m];
                if (std::isnan(value) || rows[m] == 0) continue;
                out.values[m](layer, head) = value;
                out.rows[m](layer, head) = rows[m];
            }
        }
    return out;
}

}  // namespace headlight::analyze
