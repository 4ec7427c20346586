// SPDX-License-Identifier: GPL-3.0-or-later
// From lists of neighbours to the weights that t-SNE (van der Maaten & Hinton 2008) and UMAP (McInnes et al. 2018) lay out.
#pragma once

#include "headlight/map/projection/neighbours.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::map {

/// A symmetric sparse matrix by rows, columns in order.
struct Graph {
    std::int64_t count = 0;
    std::vector<std::int64_t> first;  ///< [count + 1]
    std::vector<std::int32_t> to;
    std::vector<float> weight;
};

/// Lists of the points from `first_row` on, with a weight for each neighbour; any point can be a neighbour.
struct WeightedLists {
    NeighbourLists lists;
    std::vector<float> weight;  ///< [count, each]
    std::int64_t first_row = 0;
};

/// p_{j|i} proportional to exp(-beta_i x_ij), with beta_i such that their entropy is ln(perplexity), or as near as possible.
struct Calibrated {
    std::vector<double> beta;  ///< [count]
    std::vector<float> p;      ///< [count, each]
};
/// `x` [count, each], each row rising: squared distances, or any other exponents.
Calibrated calibrated(std::span<const float> x, std::int64_t count, std::int64_t each, double perplexity);

/// UMAP's membership strengths: exp(-(d - rho_i) / sigma_i), 1 up to rho_i, the smallest distance above 0; sigma_i such that they
/// sum to log2(each + 1), with the floor of umap-learn. Lists are without the point itself; umap-learn's n_neighbors counts it.
struct Membership {
    std::vector<double> sigma, rho;  ///< [count]
    std::vector<float> strength;     ///< [count, each]
};
Membership membership(const NeighbourLists&);

/// (P + P^T) / 2n over `count` points, sum 1. Every point must have lists of the same total weight in `all`; a pair must not be
/// in two of them in the same direction.
Graph joint_probabilities(const std::vector<WeightedLists>& all, std::int64_t count);
/// A + A^T - A∘A^T.
Graph fuzzy_union(const std::vector<WeightedLists>& all, std::int64_t count);

}  // namespace headlight::map
