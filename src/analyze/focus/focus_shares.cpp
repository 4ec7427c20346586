// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/focus/focus_terms.h"
#include "headlight/analyze/focus/focus.h"
#include "headlight/analyze/heads/head_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::analyze {
namespace {

struct ShareKind {
    const char* measure;
    const char* title;
    const char* definition;
    double first_row;  ///< what row 0 of a causal model adds; NaN: it has no such number
};

ShareKind kind_of(FocusShare share) {
    switch (share) {
        case FocusShare::argmax_self:
            return {"argmax_self", "largest weight on itself", "Share of queries whose largest weight is on themselves.", 1};
        case FocusShare::argmax_first:
            return {"argmax_first", "largest weight on the first token",
                    "Share of queries whose largest weight is on the first token.", 1};
        case FocusShare::top1_minus_top2: break;
    }
    return {"top1_minus_top2", "p(1) - p(2)",
            "Mean over queries of the largest weight minus the second largest; 1: all on one token.", NAN};
}

}  // namespace

FocusShares focus_shares(Traces traces, FocusShare share, bool include_first_row) {
    check_one_model(traces);
    const ShareKind kind = kind_of(share);
    const auto& config = traces.front()->config();
    FocusShares out;
    out.share = share;
    out.title = kind.title;
    out.definition = kind.definition;
    out.include_first_row = include_first_row;
    out.texts = static_cast<std::int64_t>(traces.size());
    out.values = Eigen::MatrixXd::Zero(config.n_layers, config.n_heads);
    const bool add_first = config.causal && include_first_row && !std::isnan(kind.first_row);
    for (const auto& trace : traces) {
        // The measures are means over these rows.
        const std::int64_t rows = config.causal ? trace->tokens() - 1 : trace->tokens();
        out.queries += rows + add_first;
        for (std::int64_t layer = 0; layer < config.n_layers; ++layer)
            for (std::int64_t head = 0; head < config.n_heads; ++head) {
                const double mean = head_measure(*trace, {Layer(layer), Head(head)}, kind.measure);
                if (rows > 0) out.values(layer, head) += mean * static_cast<double>(rows);
                if (add_first) out.values(layer, head) += kind.first_row;
            }
    }
    out.values /= static_cast<double>(out.queries);  // 0 / 0 without queries: NaN
    for (std::int64_t layer = 0; layer < config.n_layers; ++layer) {
        auto& order = out.ranked.emplace_back(static_cast<std::size_t>(config.n_heads));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
            const double x = out.values(layer, a), y = out.values(layer, b);
            return !std::isnan(x) && (std::isnan(y) || x > y);
        });
    }
    return out;
}

}  // namespace headlight::analyze
