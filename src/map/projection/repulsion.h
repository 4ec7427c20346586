// SPDX-License-Identifier: GPL-3.0-or-later
// The repulsive forces of t-SNE: sums over w_ij = 1 / (1 + |y_i - y_j|^2).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace headlight::map {

/// Numbers of one axis after another, padded to whole vectors.
struct Axes {
    std::int64_t count = 0, dims = 2, padded = 0;
    std::vector<float> values;  ///< [dims, padded]

    Axes() = default;
    /// The padding is filled with `fill`.
    Axes(std::int64_t count, std::int64_t dims, float fill = 0);
    float* axis(std::int64_t d) noexcept { return values.data() + d * padded; }
    const float* axis(std::int64_t d) const noexcept { return values.data() + d * padded; }
};

/// Positions so far away that they neither push nor are pushed.
inline constexpr float kFarAway = 1e9F;

/// force_i = sum_j w_ij^2 (y_i - y_j), over all pairs; returns Z = sum_{i != j} w_ij. `y` is padded with kFarAway.
double exact_repulsion(const Axes& y, Axes& force);

/// The same by Barnes & Hut's (1986) tree: cells whose side is below theta times their distance count as one point.
class TreeRepulsion {
public:
    TreeRepulsion();
    ~TreeRepulsion();
    double operator()(const Axes& y, Axes& force, double theta);

private:
    struct Tree;
    std::unique_ptr<Tree> tree_;
};

}  // namespace headlight::map
