// SPDX-License-Identifier: GPL-3.0-or-later
// Places the queries and keys of a new text into an existing map, whose own points do not move.
#pragma once

#include "headlight/base/job.h"
#include "headlight/map/options.h"
#include "headlight/map/vectors.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace headlight::map {

/// Places texts into the maps of some vectors and options, fast enough for a sentence as it is typed.
///
/// PCA: the map's own factors, moves and axes, exactly. t-SNE and UMAP: the median of the 10 nearest points of its role that are
/// not apart, by the preset's distance (a gradient descent from there, as openTSNE's transform does it, is no more faithful to
/// attention: docs/map.md). A vector that the map already has takes the position it has there. Equal input gives equal bytes on
/// any number of threads.
class NewPoints {
public:
    /// `threads` 0: one for each core.
    NewPoints(std::shared_ptr<const MapVectors>, const MapOptions&, int threads = 0, const CancelToken& = {});
    ~NewPoints();
    NewPoints(const NewPoints&) = delete;
    NewPoints& operator=(const NewPoints&) = delete;

    /// `text`: vectors of the same model and choice of vectors, with every head of the map; `map`: the current map, with the
    /// heads of the vectors in their order. The result has the tokens of the text, and points and norms of every head of the
    /// map; no quality. A head that is broken in one of the two has its reason in `poor`, and zeros. Errors: heads that the
    /// text lacks or that have another width, vectors rotated in one but not in the other.
    QueryKeyMap place(const MapVectors& text, const QueryKeyMap& map, int threads = 0, const CancelToken& = {}) const;

private:
    struct Head;
    HeadMap place(std::size_t head, const HeadVectors& text, const HeadMap& map, const CancelToken&) const;

    std::shared_ptr<const MapVectors> vectors_;
    MapOptions options_;
    std::vector<std::int32_t> counted_[2];  ///< [role] points that are not apart
    std::vector<Head> heads_;
};

}  // namespace headlight::map
