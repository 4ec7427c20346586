// SPDX-License-Identifier: GPL-3.0-or-later
// Attention scores and patterns tile by tile: the one place where they are computed, during a pass and after it.
#pragma once

#include "model/run/forward.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace headlight::model {

/// How [head, query] is cut. Depends on sizes and device only, so that every caller cuts alike and gets equal bits.
struct TilePlan {
    std::int64_t heads = 1;  ///< heads a tile
    std::int64_t rows = 1;   ///< queries a tile
};
TilePlan tile_plan(const AttentionInput&);

struct Tile {
    std::int64_t head0, heads, row0, rows;
    std::int64_t keys;  ///< columns that exist; those after are illegal for all rows
};

/// Of scores: q's type, or float32 where they stay so in a bfloat16 run. Patterns always have q's.
at::TensorOptions score_options(const AttentionInput&);

/// Calls `work` for every tile, from several threads on the CPU. Exceptions reach the caller.
void for_tiles(const AttentionInput&, const std::function<void(const Tile&)>& work);
/// Keys and values as the products of many tiles read them; undefined: as they are.
struct TileFactors {
    at::Tensor keys, values;
};
/// `v`: [kv_head, key, d_value] of mix_tile(); undefined: nothing is mixed.
TileFactors tile_factors(const AttentionInput&, const at::Tensor& v = {});
/// The tile of this plan, [heads, rows, keys] at `out` (contiguous), before masking: illegal keys hold any number. Without
/// factors each tile makes its own, to equal bits.
void fill_scores(const AttentionInput&, const Tile&, at::Tensor& out, const TileFactors& = {});
/// Turns scores into patterns in place. `masked`: illegal keys are -inf already and every column counts
/// (scores that came back from a hook); otherwise the causal limit of each row is used. What the heads' sinks take of each
/// row goes to `sink` [head, query] of the whole layer, where that is defined. `logs`: of its rows, filled by the CPU's kernels
/// alone, whose tiles are of one head.
void softmax_tile(const AttentionInput&, const Tile&, at::Tensor& tile, bool masked, const at::Tensor& sink = {},
                  std::vector<RowLogs>* logs = nullptr);
/// Writes -inf at illegal keys.
void mask_tile(const AttentionInput&, const Tile&, at::Tensor& tile);
/// Puts the tile into [head, query, key], with `blank` where it has no keys.
void store_tile(at::Tensor& whole, const Tile&, const at::Tensor& tile, double blank);
/// z [pos, head, d_head] rows of the tile = pattern tile times v [kv_head, key, d_head], whose factors these are.
void mix_tile(const Tile&, const at::Tensor& pattern, const at::Tensor& v, const TileFactors&, at::Tensor& z);

}  // namespace headlight::model
