// SPDX-License-Identifier: GPL-3.0-or-later
// Edits of single cells, as functions of rows.
#pragma once

#include "headlight/trace/variants.h"

#include <vector>

namespace headlight::intervention {

/// Positions [target, target + count) get what stands at [source, source + count).
struct RowRun {
    std::int64_t target = 0, source = 0, count = 0;
};
/// Of pairs (target, source) in ascending order of targets.
std::vector<RowRun> runs_of(const std::vector<std::pair<std::int64_t, std::int64_t>>&);

/// Rows of a tensor [pos, ...], or of one unit of it [pos, unit, ...], := those of `source`; undefined: 0. Of a pattern
/// [head, query, key] one head's rows. `unit` -1: all.
trace::Edit copy_rows(model::HookPoint, std::vector<RowRun>, std::int64_t unit, at::Tensor source);
/// Weights of one head's pattern (-1: of every head's) from `queries` to `keys` (pairs: target, source) := those of `source`,
/// nothing else.
trace::Edit copy_weights(model::HookPoint pattern, std::int64_t head, std::vector<std::pair<std::int64_t, std::int64_t>> queries,
                         std::vector<std::pair<std::int64_t, std::int64_t>> keys, at::Tensor source);
/// The same for texts of unequal length: the other weights of a row keep their proportions and share what is left.
trace::Edit copy_aligned(model::HookPoint pattern, std::int64_t head, std::vector<std::pair<std::int64_t, std::int64_t>> queries,
                         std::vector<std::pair<std::int64_t, std::int64_t>> keys, at::Tensor source);
/// Edges from `queries` to `keys` are taken out before the softmax: what they had goes to the others of the row in their
/// proportions; a row without others has no weights at all. `head` -1: every one (Geva et al. 2023, arXiv:2304.14767).
trace::Edit knock_out(model::HookPoint pattern, std::int64_t head, std::vector<std::int64_t> queries,
                      std::vector<std::int64_t> keys);

/// Of `rows` of a router's logits [pos, expert] one expert's := -inf or, `force`, just above all others.
trace::Edit choose_expert(model::HookPoint router, std::int64_t expert, std::vector<std::int64_t> rows, bool force);

}  // namespace headlight::intervention
