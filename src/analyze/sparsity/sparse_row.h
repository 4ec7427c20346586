// SPDX-License-Identifier: GPL-3.0-or-later
// Which keys one query reads by a sparse scheme.
#pragma once

#include "analyze/pattern/key_sums.h"
#include "headlight/analyze/sparsity/sparsity.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::analyze {

struct RowChoice {
    std::vector<KeyRange> selected;  ///< apart from each other, ascending; may meet the window
    KeyRange window{0, 0};
    std::vector<KeyRange> dilated;  ///< the keys of a window that has gaps; `window` is then empty
    KeyRange compressed{0, 0};      ///< the keys in complete blocks
    std::int64_t compressed_blocks = 0;
};

/// NSA's blocks that a query may read, those it must, and the others by falling importance (equal ones: earlier first).
struct RankedBlocks {
    std::vector<std::int64_t> forced, others;
};
RankedBlocks rank_blocks(const SparsityOptions&, std::int64_t query, KeyRange legal, std::span<const KeySums> group);
KeyRange keys_of_block(const SparsityOptions&, std::int64_t block, KeyRange legal);

KeyRange window_keys(std::int64_t window, std::int64_t query, KeyRange legal);
/// `weights` and `sums` of the head, `group` of all heads that share its keys.
RowChoice choose_keys(const SparsityOptions&, std::int64_t query, KeyRange legal, const float* weights,
                      std::span<const KeySums> group);

/// The parts of a range before the window and behind it; with the window's mass they are what both hold together.
inline KeyRange before(KeyRange r, KeyRange window) { return {r.first, std::min(r.last, std::max(r.first, window.first))}; }
inline KeyRange behind(KeyRange r, KeyRange window) { return {std::max(r.first, std::min(r.last, window.last)), r.last}; }

}  // namespace headlight::analyze
