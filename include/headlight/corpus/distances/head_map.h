// SPDX-License-Identifier: GPL-3.0-or-later
// Places heads in a plane, groups them, and finds their nearest ones, by a symmetric matrix of distances.
#pragma once

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace headlight::corpus {

struct ScalingOptions {
    std::int64_t dimensions = 2;
    std::int64_t iterations = 1000;  ///< at most, from each start
    std::int64_t starts = 10;        ///< from random points, in addition to classical scaling; the lowest stress wins
    std::uint64_t seed = 0;
    double tolerance = 1e-10;  ///< stops where a step lowers the stress by less than this share of the sum of squared distances
};

struct Scaling {
    Eigen::MatrixXd coordinates;  ///< [point, dimension], around 0; axes by variance, each with its largest entry positive
    double stress = 0;  ///< sum over pairs of (distance in the plane - delta)^2, as scikit-learn's with normalized_stress=False
    double relative_stress = 0;    ///< sqrt(stress / sum of delta^2), Kruskal's stress-1 except for the denominator: 0 is perfect
    std::vector<double> stresses;  ///< of the winning start, before and after every step; never rises
};

/// Metric multidimensional scaling by majorisation (SMACOF, de Leeuw 1977), which finds a local minimum: from classical scaling
/// (Torgerson 1952) and from seeded random points. Errors: not square, not symmetric, an entry that is negative or NaN.
Scaling metric_scaling(const Eigen::MatrixXd& distances, const ScalingOptions& = {});

/// The others of a point, nearest first; equal ones by number.
std::vector<std::int64_t> nearest_heads(const Eigen::MatrixXd& distances, std::int64_t point);

/// A merge of two groups. Points are groups 0 to n - 1; the i-th merge makes group n + i (as SciPy's linkage()).
struct GroupMerge {
    std::int64_t a = 0, b = 0;  ///< a < b
    double distance = 0;        ///< mean over the pairs of points between the two
    std::int64_t points = 0;    ///< of the new group
};
/// Average linkage (UPGMA): the two nearest groups are merged, n - 1 times; ties go to the first by number.
std::vector<GroupMerge> average_linkage(const Eigen::MatrixXd& distances);
/// Group of every point with merges beyond `distance` undone, numbered from 0 by first point.
std::vector<std::int64_t> groups_below(const std::vector<GroupMerge>&, double distance);
/// The same for a number of groups.
std::vector<std::int64_t> groups_of(const std::vector<GroupMerge>&, std::int64_t groups);

}  // namespace headlight::corpus
