// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/pattern/score_parts.h"

#include "analyze/pattern/head_reader.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace headlight::analyze {
namespace {

using Rows = std::vector<std::pair<std::string, at::Tensor>>;  ///< [count, key] each

/// The summands of some rows, without their sum.
Rows summands(const trace::Trace& trace, HeadId id, std::int64_t first, std::int64_t count) {
    if (const trace::ScoreParts latent = trace::score_part_rows(trace, id.layer, id.head, first, count); latent.content.defined())
        return {{"content", latent.content}, {"rotary", latent.rotary}};
    const trace::RelativeTerms terms = trace::relative_rows(trace, id.layer, id.head, first, count);
    Rows rows;
    for (const auto& [name, term] : {std::pair("c2p", terms.c2p), std::pair("p2c", terms.p2c)})
        if (term.defined()) rows.emplace_back(name, term);
    if (rows.empty())
        if (const at::Tensor position = trace::position_rows(trace, id.layer, id.head, first, count); position.defined())
            rows.emplace_back("position", position);
    return rows;
}

/// The scores of some rows, before a cap.
at::Tensor uncapped(const trace::Trace& trace, HeadId id, std::int64_t first, std::int64_t count) {
    if (trace.config().score_softcap <= 0) return trace::score_rows(trace, id.layer, id.head, first, count).to(at::kDouble);
    const at::Tensor q = head_queries(trace, id).narrow(0, first, count).to(at::kDouble),
                     k = head_keys(trace, id).to(at::kDouble);
    return at::matmul(q, k.t()) * model::score_scale_of(trace.config(), id.layer.value);
}

}  // namespace

std::vector<ScorePart> score_parts(const trace::Trace& trace, HeadId id, const CancelToken& cancel) {
    check_head(trace, id);
    const at::NoGradGuard no_grad;
    const std::int64_t n = trace.tokens(), keys = trace.keys(), block = row_block(trace);
    std::vector<ScorePart> parts;
    for (std::int64_t row = 0; row < n; row += block) {
        cancel.throw_if_cancelled();
        const std::int64_t count = std::min(block, n - row);
        Rows rows = summands(trace, id, row, count);
        const at::Tensor score = uncapped(trace, id, row, count);
        if (!rows.empty() && !trace.config().latent.any()) {
            at::Tensor content = score;
            for (const auto& [name, term] : rows) content = content - term.to(at::kDouble);
            rows.emplace(rows.begin(), "content", content);
        }
        rows.emplace_back("score", score);
        for (std::size_t p = 0; p < rows.size(); ++p) {
            if (parts.size() <= p) parts.push_back({rows[p].first, Matrix(n, keys)});
            parts[p].values.middleRows(row, count) = to_matrix(rows[p].second);
        }
    }
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t i = 0; i < n; ++i) {
        const model::KeyRange legal = legal_keys_of(trace, id.layer, Position(i));
        for (ScorePart& part : parts) {
            part.values.row(i).head(legal.first).setConstant(nan);
            part.values.row(i).tail(keys - legal.last).setConstant(nan);
        }
    }
    return parts;
}

}  // namespace headlight::analyze
