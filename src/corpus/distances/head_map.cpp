// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/distances/head_map.h"

#include "headlight/base/eigenvectors.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace headlight::corpus {
namespace {

void check_distances(const Eigen::MatrixXd& d) {
    if (d.rows() != d.cols() || !d.allFinite() || (d.array() < 0).any() || (d - d.transpose()).cwiseAbs().maxCoeff() > 1e-12)
        throw Error({.problem = "A matrix of distances must be square, symmetric and without negative entries or gaps",
                     .found = "[" + std::to_string(d.rows()) + ", " + std::to_string(d.cols()) + "]",
                     .hint = "Distances of heads have gaps before the first text was compared"});
}

Eigen::MatrixXd plane_distances(const Eigen::MatrixXd& x) {
    Eigen::MatrixXd d(x.rows(), x.rows());
    for (Eigen::Index i = 0; i < x.rows(); ++i) d.row(i) = (x.rowwise() - x.row(i)).rowwise().norm().transpose();
    return d;
}

/// The largest entry of each axis positive: eigenvectors come with either sign.
void fix_signs(Eigen::MatrixXd& x) {
    for (Eigen::Index c = 0; c < x.cols(); ++c) {
        Eigen::Index at = 0;
        x.col(c).cwiseAbs().maxCoeff(&at);
        if (x(at, c) < 0) x.col(c) = -x.col(c);
    }
}

/// Rotates to the axes of largest variance, so that the orientation does not depend on the start.
void turn_to_axes(Eigen::MatrixXd& x) {
    x = (x * eigenvectors_of(x.transpose() * x).vectors.rowwise().reverse()).eval();
    fix_signs(x);
}

/// Scores of the doubly centred -delta^2 / 2. An axis without variance stays thin rather than flat: majorisation cannot leave a
/// line.
Eigen::MatrixXd classical_scaling(const Eigen::MatrixXd& distances, std::int64_t dimensions) {
    const Eigen::Index n = distances.rows();
    Eigen::MatrixXd b = -0.5 * distances.array().square().matrix();
    b.rowwise() -= b.colwise().mean().eval();
    b.colwise() -= b.rowwise().mean().eval();
    const auto [values, vectors] = eigenvectors_of(b);
    Eigen::MatrixXd x = Eigen::MatrixXd::Zero(n, dimensions);
    const double largest = std::max(0.0, values(n - 1));
    for (Eigen::Index c = 0; c < std::min<Eigen::Index>(dimensions, n); ++c)
        x.col(c) = vectors.col(n - 1 - c) * std::sqrt(std::max(values(n - 1 - c), 1e-8 * largest));
    return x;
}

double stress_of(const Eigen::MatrixXd& plane, const Eigen::MatrixXd& distances) {
    return (plane - distances).squaredNorm() / 2;  // every pair occurs twice
}

Scaling majorise(const Eigen::MatrixXd& from, const Eigen::MatrixXd& distances, const ScalingOptions& options) {
    Scaling out;
    out.coordinates = from;
    Eigen::MatrixXd plane = plane_distances(from);
    out.stresses.push_back(stress_of(plane, distances));
    for (std::int64_t i = 0; i < options.iterations; ++i) {
        // The Guttman transform X <- B(X) X / n; where two points coincide their pair has no pull.
        Eigen::MatrixXd b = (plane.array() > 0).select(-distances.array() / plane.array(), 0.0);
        b.diagonal().setZero();
        b.diagonal() = -b.rowwise().sum();
        const Eigen::MatrixXd moved = b * out.coordinates / static_cast<double>(from.rows());
        plane = plane_distances(moved);
        const double stress = stress_of(plane, distances), gain = out.stresses.back() - stress;
        if (gain < 0) break;  // rounding at the bottom
        out.coordinates = moved;
        out.stresses.push_back(stress);
        if (gain <= options.tolerance * distances.squaredNorm()) break;
    }
    out.stress = out.stresses.back();
    return out;
}

std::vector<std::int64_t> groups_after(const std::vector<GroupMerge>& merges, std::size_t undone_from) {
    const std::size_t n = merges.size() + 1;
    std::vector<std::size_t> parent(n + merges.size());
    std::iota(parent.begin(), parent.end(), std::size_t(0));
    for (std::size_t i = 0; i < undone_from; ++i)
        parent[static_cast<std::size_t>(merges[i].a)] = parent[static_cast<std::size_t>(merges[i].b)] = n + i;
    std::vector<std::int64_t> number(parent.size(), -1), groups;
    std::int64_t next = 0;
    for (std::size_t point = 0; point < n; ++point) {
        std::size_t root = point;
        while (parent[root] != root) root = parent[root];
        if (number[root] < 0) number[root] = next++;
        groups.push_back(number[root]);
    }
    return groups;
}

}  // namespace

Scaling metric_scaling(const Eigen::MatrixXd& distances, const ScalingOptions& options) {
    check_distances(distances);
    Scaling best;
    if (distances.rows() == 0) return best;
    const Eigen::MatrixXd classical = classical_scaling(distances, options.dimensions);
    best = majorise(classical, distances, options);
    const double spread = classical.cwiseAbs().maxCoeff();
    for (std::int64_t start = 0; start < options.starts; ++start) {
        std::int64_t place = 0;
        const Eigen::MatrixXd random = Eigen::MatrixXd::NullaryExpr(classical.rows(), classical.cols(), [&] {
            return spread * (static_cast<double>(draw(options.seed, start, place++)) * 0x1p-63 - 1);
        });
        if (Scaling found = majorise(random, distances, options); found.stress < best.stress) best = std::move(found);
    }
    best.coordinates.rowwise() -= best.coordinates.colwise().mean().eval();
    turn_to_axes(best.coordinates);
    const double total = distances.squaredNorm() / 2;
    best.relative_stress = total > 0 ? std::sqrt(best.stress / total) : 0;
    return best;
}

std::vector<std::int64_t> nearest_heads(const Eigen::MatrixXd& distances, std::int64_t point) {
    if (point < 0 || point >= distances.rows())
        throw Error({.problem = "There is no such head",
                     .expected = "0 to " + std::to_string(distances.rows() - 1),
                     .found = std::to_string(point)});
    std::vector<std::int64_t> others;
    for (std::int64_t i = 0; i < distances.rows(); ++i)
        if (i != point) others.push_back(i);
    std::ranges::stable_sort(others, {}, [&](std::int64_t i) { return distances(point, i); });
    return others;
}

std::vector<GroupMerge> average_linkage(const Eigen::MatrixXd& distances) {
    check_distances(distances);
    const Eigen::Index n = distances.rows();
    Eigen::MatrixXd d = distances;
    std::vector<std::int64_t> group(static_cast<std::size_t>(n)), points(static_cast<std::size_t>(n), 1);  // of a row
    std::iota(group.begin(), group.end(), 0);
    std::vector<Eigen::Index> rows(static_cast<std::size_t>(n));
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<GroupMerge> merges;
    while (rows.size() > 1) {
        Eigen::Index a = -1, b = -1;
        double best = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t j = i + 1; j < rows.size(); ++j)
                if (d(rows[i], rows[j]) < best) {
                    best = d(rows[i], rows[j]);
                    a = rows[i];
                    b = rows[j];
                }
        auto &points_a = points[static_cast<std::size_t>(a)], &group_a = group[static_cast<std::size_t>(a)];
        const std::int64_t points_b = points[static_cast<std::size_t>(b)], group_b = group[static_cast<std::size_t>(b)];
        const double wa = static_cast<double>(points_a), wb = static_cast<double>(points_b);
        d.row(a) = (wa * d.row(a) + wb * d.row(b)) / (wa + wb);
        d.col(a) = d.row(a).transpose();
        points_a += points_b;
        merges.push_back({std::min(group_a, group_b), std::max(group_a, group_b), best, points_a});
        group_a = n + std::ssize(merges) - 1;
        std::erase(rows, b);
    }
    return merges;
}

std::vector<std::int64_t> groups_below(const std::vector<GroupMerge>& merges, double distance) {
    // Distances of average linkage never fall from merge to merge.
    const auto first = std::ranges::find_if(merges, [&](const GroupMerge& m) { return m.distance > distance; });
    return groups_after(merges, static_cast<std::size_t>(first - merges.begin()));
}

std::vector<std::int64_t> groups_of(const std::vector<GroupMerge>& merges, std::int64_t groups) {
    if (groups < 1 || groups > std::ssize(merges) + 1)
        throw Error({.problem = "There are not that many groups",
                     .expected = "1 to " + std::to_string(merges.size() + 1),
                     .found = std::to_string(groups)});
    return groups_after(merges, static_cast<std::size_t>(std::ssize(merges) + 1 - groups));
}

}  // namespace headlight::corpus
