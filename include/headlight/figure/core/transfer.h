// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/enum_table.h"

#include <QString>

#include <Eigen/Core>

namespace headlight::figure {

/// Maps a weight to the strength with which it is drawn: the same for all views, shown in legends and exports.
struct Transfer {
    enum class Curve { linear, log, gamma, per_row, rank } curve = Curve::linear;
    double gamma = 0.5;    ///< for Curve::gamma: t = w^gamma
    double threshold = 0;  ///< weights below are not drawn
    double keep_mass = 1;  ///< per row keep the largest weights until this share of the mass
    bool operator==(const Transfer&) const = default;

    /// weight 0..1 -> strength 0..1 for the curves that need no row (log: 1e-4..1 on a log scale).
    double operator()(double weight) const noexcept;
    QString legend() const;  ///< "log, ≥ 0.01, 95 % of the mass"
};

inline constexpr EnumRow<Transfer::Curve> curves[] = {
    {Transfer::Curve::linear, "linear", "Linear", "Strength = weight"},
    {Transfer::Curve::log, "log", "Log", "0.0001 … 1 on a logarithmic scale: shows faint weights"},
    {Transfer::Curve::gamma, "gamma", "γ", "Strength = weight to the power γ"},
    {Transfer::Curve::per_row, "per-row", "Per row", "Divided by the largest weight of each query"},
    {Transfer::Curve::rank, "rank", "Rank", "By rank within each query: only the order counts"}};
constexpr const auto& enum_rows(Transfer::Curve) { return curves; }

/// Applies the whole function to a row (per_row, rank, threshold and keep_mass need it): strengths 0..1.
Eigen::VectorXf apply(const Transfer&, const Eigen::Ref<const Eigen::VectorXf>& row);

}  // namespace headlight::figure
