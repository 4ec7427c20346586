// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/compare/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace headlight::intervention {
namespace {

constexpr double kNoKey = 1e-4;  // below this, what is missing to 1 is rounding

double plus_log_ratio(double p, double q) { return p > 0 ? p * std::log(p / q) : 0; }

bool holds_first_query(const trace::Trace& trace, TextUnit unit) {
    return trace.config().causal && !trace.across_texts() && unit.first == 0;
}

}  // namespace

RowDistance row_distance(std::span<const double> a, std::span<const double> b, double rest_a, double rest_b) {
    RowDistance d;
    double common = 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
        const double mean = (a[k] + b[k]) / 2;
        d.js += (plus_log_ratio(a[k], mean) + plus_log_ratio(b[k], mean)) / 2;
        d.tv += std::abs(a[k] - b[k]) / 2;
        d.kl += plus_log_ratio(a[k], b[k]);
        common += std::sqrt(a[k] * b[k]);
    }
    d.js = std::max(0.0, d.js + std::numbers::ln2 / 2 * (rest_a + rest_b));
    d.tv += (rest_a + rest_b) / 2;
    if (rest_a > 0) d.kl = std::numeric_limits<double>::infinity();
    d.hellinger = std::sqrt(std::max(0.0, 1 - common));
    return d;
}

Eigen::MatrixXd pooled_pattern(const trace::Trace& trace, HeadId head, const std::vector<TextUnit>& queries,
                               const std::vector<TextUnit>& keys, const CancelToken& cancel) {
    const analyze::Matrix tokens = analyze::pattern(trace, head, {}, cancel);
    Eigen::MatrixXd out(std::ssize(queries), std::ssize(keys));
    for (std::int64_t q = 0; q < std::ssize(queries); ++q)
        for (std::int64_t k = 0; k < std::ssize(keys); ++k) {
            const TextUnit row = queries[static_cast<std::size_t>(q)], column = keys[static_cast<std::size_t>(k)];
            out(q, k) = tokens.block(row.first, column.first, row.count, column.count).cast<double>().sum() /
                        static_cast<double>(row.count);
        }
    return out;
}

Eigen::MatrixXd pooled_rows(const at::Tensor& tensor, const std::vector<TextUnit>& units) {
    const at::Tensor rows = tensor.reshape({tensor.size(0), -1}).to(at::kCPU, at::kDouble).contiguous();
    const Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> all(
        rows.data_ptr<double>(), rows.size(0), rows.size(1));
    Eigen::MatrixXd out(std::ssize(units), rows.size(1));
    for (std::int64_t u = 0; u < std::ssize(units); ++u) {
        const TextUnit unit = units[static_cast<std::size_t>(u)];
        out.row(u) = all.middleRows(unit.first, unit.count).colwise().mean();
    }
    return out;
}

std::vector<RowPair> compared_rows(const RunPair& pair) {
    std::vector<RowPair> rows;
    for (std::int64_t u = 0; u < std::ssize(pair.queries.to); ++u) {
        const std::int64_t partner = pair.queries.to[static_cast<std::size_t>(u)];
        if (partner < 0) continue;
        if (holds_first_query(*pair.a, pair.queries.a[static_cast<std::size_t>(u)]) ||
            holds_first_query(*pair.b, pair.queries.b[static_cast<std::size_t>(partner)]))
            continue;
        rows.push_back({u, partner});
    }
    return rows;
}

std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> common_keys(const RunPair& pair) {
    std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> keys;
    for (std::int64_t k = 0; k < std::ssize(pair.keys.to); ++k)
        if (const std::int64_t partner = pair.keys.to[static_cast<std::size_t>(k)]; partner >= 0) {
            keys.first.push_back(k);
            keys.second.push_back(partner);
        }
    return keys;
}

SideRow side_row(const Eigen::MatrixXd& map, Eigen::Index row, const std::vector<std::int64_t>& keys,
                 const CompareOptions& options) {
    SideRow out;
    const double sum = map.row(row).sum(), first = options.without_first ? map(row, 0) : 0, stays = sum - first;
    double on_common = 0;
    for (const std::int64_t k : keys) {
        out.common.push_back(options.without_first && k == 0 ? 0.0 : map(row, k));
        on_common += out.common.back();
    }
    // Sums in another order differ by rounding, which is no weight.
    if (std::ssize(keys) < map.cols()) out.rest = stays - on_common > 1e-9 ? stays - on_common : 0;
    if (options.without_first) {
        out.defined = stays >= kLeastRow;
        for (double& weight : out.common) weight /= stays;
        out.rest /= stays;
    }
    out.common.push_back(!options.without_first && 1 - sum > kNoKey ? 1 - sum : 0.0);
    return out;
}

}  // namespace headlight::intervention
