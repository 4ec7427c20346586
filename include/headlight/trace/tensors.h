// SPDX-License-Identifier: GPL-3.0-or-later
// With torch in it (as weights.h): for src/analyze, never for figure, cli or ui.
#pragma once

#include "headlight/trace/trace.h"

#include <ATen/ATen.h>

#include <functional>

namespace headlight::trace {

/// A kept tensor, or one computed on demand (pattern, attn_scores, result, mlp_post by the function the run used;
/// normalized from the stream and the scale).
/// On the CPU, in the compute type. Error when the run did not keep what it needs.
at::Tensor tensor(const Trace&, model::HookPoint);

/// Positions [first, first + count) of what tensor() gives, for hooks whose first axis is the position; only these are
/// computed. [count, …]
at::Tensor tensor_rows(const Trace&, model::HookPoint, std::int64_t first, std::int64_t count);

/// Rows [first, first + count) of one head's pattern: [count, key]. Equal (1e-6) to what the run used; a replaced
/// pattern is the replaced one.
at::Tensor pattern_rows(const Trace&, Layer, Head, std::int64_t first, std::int64_t count);
/// The same of a layer with an implied map (model::has_implied_map), whose rows have both signs and any sum. The functions of
/// patterns and scores refuse such a layer by name, this one the others.
at::Tensor implied_rows(const Trace&, Layer, Head, std::int64_t first, std::int64_t count);
/// All rows of heads [first_head, +heads), `group` heads at a time: `read(head, first, rows)` gets [group, row, key] of heads
/// from `head` on and queries from `first` on; keys that are left out have no weight. In any order and from several threads.
using PatternRowsFn = std::function<void(std::int64_t head, std::int64_t first, const at::Tensor& rows)>;
void for_pattern_rows(const Trace&, Layer, std::int64_t first_head, std::int64_t heads, std::int64_t group,
                      const PatternRowsFn& read);
/// One head's rows before the softmax: scaled, with position bias; illegal keys -inf. [count, key]
at::Tensor score_rows(const Trace&, Layer, Head, std::int64_t first, std::int64_t count);
/// Additive position term of the score (ALiBi: -slope (i-j), 0 at self): [count, key]; undefined tensor when the model
/// has none. DeBERTa: content to position plus position to content. Rotary: score with rotation minus score without (0 in layers
/// that do not rotate), before a cap of the scores. Illegal keys -inf.
at::Tensor position_rows(const Trace&, Layer, Head, std::int64_t first, std::int64_t count);
/// DeBERTa's terms of the score, scaled: [count, key] each; undefined where the model has no such term. position_rows is
/// their sum.
struct RelativeTerms {
    at::Tensor c2p, p2c;
};
RelativeTerms relative_rows(const Trace&, Layer, Head, std::int64_t first, std::int64_t count);
/// MLA's parts of the score, scaled: what content adds and what rotates; [count, key] each, illegal keys -inf. Undefined in
/// other models.
struct ScoreParts {
    at::Tensor content, rotary;
};
ScoreParts score_part_rows(const Trace&, Layer, Head, std::int64_t first, std::int64_t count);
/// The sum of relative_rows() for chosen pairs; queries and keys are [pair] int64. [pair]
at::Tensor relative_pairs(const Trace&, Layer, Head, const at::Tensor& queries, const at::Tensor& keys);
/// Queries or keys (Hook::q, Hook::k) as they go into the rotation: behind their norm where the model has one.
/// [pos, head, d_head]
at::Tensor before_rotation(const Trace&, Layer, model::Hook);
/// Summands of a head's queries or keys (Hook::q, Hook::k) as the projections give them, [row, summand, d_head] of positions from
/// `first` on, taken to what the scores multiply: through the norm of queries and keys at its scale in the run, whose bias goes
/// to the last summand, and the rotation. `head`: of the keys the one that has them. Their sums are the run's q and k.
at::Tensor through_rotation(const Trace&, Layer, model::Hook, std::int64_t head, const at::Tensor& summands, std::int64_t first);
/// Key column j over all queries: [query].
at::Tensor pattern_column(const Trace&, Layer, Head, Position key);

/// A hook function sees a tensor at its place in the pass, on the CPU, and returns what the pass continues with
/// (the same tensor, or a replacement of equal shape and dtype; Error otherwise). It must not change the one it is
/// given.
using HookFn = std::function<at::Tensor(model::HookPoint, const at::Tensor&)>;
struct Intervention {
    std::string glob;  ///< hook names it is called at
    HookFn fn;
};
std::shared_ptr<const Trace> run_with_hooks(std::shared_ptr<const model::Model>, std::shared_ptr<const text::Tokenizer>,
                                            const Prompt&, const CapturePlan&, const std::vector<Intervention>&,
                                            const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::trace
