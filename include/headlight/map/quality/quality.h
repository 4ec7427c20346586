// SPDX-License-Identifier: GPL-3.0-or-later
// How well a picture preserves the original points.
#pragma once

#include "headlight/map/projection/neighbours.h"
#include "headlight/map/vectors.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace headlight::map {

/// Trustworthiness of Venna & Kaski 2001: 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_{j in U_i} (r(i, j) - k), where U_i are the
/// neighbours in the picture that are not neighbours in the original space, and r is their rank there; continuity exchanges the
/// two spaces. Ties by index. k is at most (n - 1) / 2. NaN for fewer than 4 points.
struct RankQuality {
    double trustworthiness = 0, continuity = 0;
};
/// Over at most `rows` points, evenly spread, against all.
RankQuality rank_quality(const Rows& original, const Rows& picture, std::int64_t k, std::int64_t rows = 1000,
                         const CancelToken& = {});
/// The same if nearness is not a distance, or is a distance to other points: how far each of `count` points is from row i.
/// `own`: the rows are the points themselves.
using Farness = std::function<void(std::int64_t i, std::span<float> out)>;
RankQuality rank_quality(std::int64_t rows, std::int64_t count, bool own, std::int64_t k, const Farness& original,
                         const Farness& picture, std::int64_t at_most = 1000, const CancelToken& = {});

/// Share of every point's neighbours in `original` that are among as many nearest in `picture`: [count].
std::vector<float> kept_neighbours(const NeighbourLists& original, const NeighbourLists& picture);

/// How well distances in the picture reflect attention within each text. `points`: all queries, then all keys.
struct Faithfulness {
    double correlation = 0;  ///< mean over queries with at least 3 legal keys of Spearman(score, -distance) over them; NaN: none
    double near = 0;         ///< share of softmax(scale q·k) on the 10 nearest legal keys, mean over queries with more than 10
};
/// First and special tokens count neither as queries nor as keys. The score is q·k of the head's vectors, without the effect of
/// masks, positions and sinks on attention.
Faithfulness faithfulness(const MapVectors&, const HeadVectors&, const std::vector<float>& points, int dims,
                          const CancelToken& = {});

}  // namespace headlight::map
