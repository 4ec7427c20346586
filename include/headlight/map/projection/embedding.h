// SPDX-License-Identifier: GPL-3.0-or-later
// A layout that is computed step by step, so that a window can show it while it settles.
#pragma once

#include "headlight/base/job.h"
#include "headlight/map/projection/affinities.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace headlight::map {

class Embedding {
public:
    virtual ~Embedding() = default;
    /// Runs up to this many more iterations. It can be cancelled between two of them.
    virtual void run(int iterations, const CancelToken& = {}) = 0;
    virtual std::vector<float> points() const = 0;  ///< [count, dims]
    virtual int done() const = 0;
    virtual int wanted() const = 0;
    /// Kullback-Leibler divergence without exaggeration, in nats; NaN where the method has none.
    virtual double divergence() = 0;
};

/// The schedule of openTSNE (Poličar et al. 2024): an early phase with exaggerated attraction, rate n / exaggeration, momentum
/// 0.8, gains, and steps of length 5 at most.
struct TsneOptions {
    int dims = 2;
    int early = 250, later = 500;
    double exaggeration = 12, momentum = 0.8;
    std::int64_t exact_up_to = 8000;  ///< beyond: a Barnes-Hut tree
    double theta = 0.5;
};
/// `p`: joint_probabilities(). `start` [count, dims] is used as it is.
std::unique_ptr<Embedding> make_tsne(Graph p, std::vector<float> start, const TsneOptions& = {});

/// Gradient of the divergence by its definition, 4 sum_j (p_ij - q_ij) w_ij (y_i - y_j): [count, dims]. `theta` 0: exact.
struct TsneGradient {
    std::vector<float> gradient;
    double z = 0, divergence = 0;
};
TsneGradient tsne_gradient(const Graph& p, const std::vector<float>& points, int dims, double theta = 0);

/// McInnes et al. 2018, with the defaults of umap-learn. Sixteen edges are sampled at a time, so that their kernels are one
/// computation; a point in two of them gets both moves.
struct UmapOptions {
    int dims = 2;
    int epochs = 0;  ///< 0: 500, or 200 for more than 10,000 points
    double min_dist = 0.1, spread = 1;
    int negatives = 5;
    std::uint64_t seed = 0;
};
/// `graph`: fuzzy_union(). `start` [count, dims] is scaled to [0, 10] on every axis.
std::unique_ptr<Embedding> make_umap(Graph graph, std::vector<float> start, const UmapOptions& = {});

/// 1 / (1 + a d^2b) fitted to 1 up to min_dist and exp(-(d - min_dist) / spread) beyond it, by least squares over 300 distances
/// up to 3 spread.
struct UmapCurve {
    double a = 0, b = 0;
};
UmapCurve umap_curve(double min_dist, double spread);

}  // namespace headlight::map
