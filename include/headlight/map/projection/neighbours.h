// SPDX-License-Identifier: GPL-3.0-or-later
// Exact nearest neighbours: one matrix product by blocks of rows finds the candidates, float64 puts them in order.
#pragma once

#include "headlight/base/job.h"
#include "headlight/map/projection/pca.h"

#include <cstdint>
#include <vector>

namespace headlight::map {

/// cosine: 1 - cos of the angle at the origin.
enum class Metric { euclidean, cosine };

/// The nearest first; ties by index.
struct NeighbourLists {
    std::int64_t count = 0, each = 0;
    std::vector<std::int32_t> index;  ///< [count, each]
    std::vector<float> distance;      ///< [count, each]
};

/// The nearest `each` (at most count - 1) other rows of every row.
NeighbourLists nearest_rows(const Rows&, std::int64_t each, Metric = Metric::euclidean, const CancelToken& = {});

/// The `each` rows of `among` that are nearest to every row of `of`; Euclidean.
NeighbourLists nearest_among(const Rows& of, const Rows& among, std::int64_t each, const CancelToken& = {});

/// The `each` rows of `among` with the largest products with every row of `of`. `distance` is the row's largest product minus
/// this one.
NeighbourLists largest_products(const Rows& of, const Rows& among, std::int64_t each, const CancelToken& = {});

/// Each divided by its length; zeros stay zeros. Their Euclidean order is that of cosines.
std::vector<float> unit_rows(const Rows&);

}  // namespace headlight::map
