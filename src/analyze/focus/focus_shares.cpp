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

/// Queries that the measure is a mean over: but the first of a causal model, and, where the second largest weight is asked for,
/// those that may attend to one key alone, as the first one of a chunk.
std::int64_t rows_of(const trace::Trace& trace, std::int64_t layer, FocusShare share) {
    const auto& config = trace.config();
    const std::int64_t tokens = trace.tokens(), keys = trace.keys();
    if (share != FocusShare::top1_minus_top2) return config.causal ? tokens - 1 : tokens;
    std::int64_t rows = 0;
    for (std::int64_t i = 0; i < tokens; ++i)
        rows += model::legal_keys(i, keys, config.causal, model::window_of(config, layer)).count() > 1;
    return rows;
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
    for (std::int64_t layer = 0; layer < config.n_layers; ++layer) {
        std::int64_t queries = 0;
        for (const auto& trace : traces) {
            const std::int64_t rows = rows_of(*trace, layer, share);
            queries += rows + add_first;
            for (std::int64_t head = 0; head < config.n_heads; ++head) {
                const double mean = head_measure(*trace, {Layer(layer), Head(head)}, kind.measure);
                if (rows > 0) out.values(layer, head) += mean * static_cast<double>(rows);
                if (add_first) out.values(layer, head) += kind.first_row;
            }
        }
        out.values.row(layer) /= static_cast<double>(queries);  // 0 / 0 without queries: NaN
        out.queries = std::max(out.queries, queries);
    }
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
