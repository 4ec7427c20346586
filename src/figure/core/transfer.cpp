// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/figure/core/transfer.h"

#include <QStringList>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace headlight::figure {
namespace {

constexpr double log_floor = 1e-4;  ///< where the log scale begins

/// Indices of the positive weights, largest first; ties keep their order.
std::vector<Eigen::Index> by_weight(const Eigen::Ref<const Eigen::VectorXf>& row) {
    std::vector<Eigen::Index> order;
    for (Eigen::Index j = 0; j < row.size(); ++j)
        if (row[j] > 0) order.push_back(j);
    std::stable_sort(order.begin(), order.end(), [&](Eigen::Index a, Eigen::Index b) { return row[a] > row[b]; });
    return order;
}

}  // namespace

double Transfer::operator()(double weight) const noexcept {
    if (!(weight > 0)) return 0;  // NaN too
    const double w = std::min(weight, 1.0);
    switch (curve) {
        case Curve::log: return std::max(0.0, 1 - std::log(w) / std::log(log_floor));
        case Curve::gamma: return std::pow(w, gamma);
        default: return w;
    }
}

QString Transfer::legend() const {
    QStringList parts;
    switch (curve) {
        case Curve::linear: parts << QStringLiteral("linear"); break;
        case Curve::log: parts << QStringLiteral("log from 10⁻⁴"); break;
        case Curve::gamma: parts << QStringLiteral("γ = %1").arg(gamma); break;
        case Curve::per_row: parts << QStringLiteral("relative to the row's largest"); break;
        case Curve::rank: parts << QStringLiteral("rank within the row"); break;
    }
    if (threshold > 0) parts << QStringLiteral("≥ %1").arg(threshold);
    if (keep_mass < 1) parts << QStringLiteral("%1 % of the mass").arg(keep_mass * 100);
    return parts.join(QStringLiteral(", "));
}

Eigen::VectorXf apply(const Transfer& transfer, const Eigen::Ref<const Eigen::VectorXf>& row) {
    using Curve = Transfer::Curve;
    Eigen::VectorXf kept = row.unaryExpr([&](float w) { return w > 0 && w >= transfer.threshold ? w : 0.0F; });
    if (transfer.keep_mass < 1) {
        const auto order = by_weight(row);
        const double wanted = transfer.keep_mass *
                              std::accumulate(order.begin(), order.end(), 0.0, [&](double sum, auto j) { return sum + row[j]; });
        double mass = 0;
        for (auto j : order) {
            // 1e-6: sums of float32 weights that are meant to be equal
            if (mass >= wanted - 1e-6) kept[j] = 0;
            mass += row[j];
        }
    }
    Eigen::VectorXf out = Eigen::VectorXf::Zero(row.size());
    if (transfer.curve == Curve::rank) {
        const auto order = by_weight(kept);
        const auto n = static_cast<float>(order.size());
        for (std::size_t r = 0; r < order.size(); ++r) out[order[r]] = (n - static_cast<float>(r)) / n;
        return out;
    }
    float largest = 1;
    if (transfer.curve == Curve::per_row) largest = kept.size() > 0 ? kept.maxCoeff() : 0;
    if (!(largest > 0)) return out;
    for (Eigen::Index j = 0; j < kept.size(); ++j)
        if (kept[j] > 0) out[j] = static_cast<float>(transfer(kept[j] / largest));
    return out;
}

}  // namespace headlight::figure
