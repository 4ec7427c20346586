// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by self and cross attention of a layer: from q, k and v to the output.
#pragma once

#include "model/blocks/pass.h"

namespace headlight::model {

/// The hooks of one attention of a layer.
struct AttentionHooks {
    Hook q, k, v, scores, pattern, z, result;
};
inline constexpr AttentionHooks kOwnAttention{Hook::q, Hook::k, Hook::v, Hook::attn_scores, Hook::pattern, Hook::z, Hook::result};
inline constexpr AttentionHooks kCrossAttention{Hook::cross_q,       Hook::cross_k, Hook::cross_v,     Hook::cross_scores,
                                                Hook::cross_pattern, Hook::cross_z, Hook::cross_result};

/// Columns [first + h step, + d_head) of x plus bias, head by head: [head, pos, d_head] contiguous.
at::Tensor split_heads(const at::Tensor& x, const at::Tensor& bias, std::int64_t heads, std::int64_t d_head, std::int64_t first,
                       std::int64_t step);
/// A hook over [head, pos, d_head] that shows it as [pos, head, d_head].
at::Tensor hook_heads(Pass&, Hook, Layer, const at::Tensor& x);
/// z [query, head, d_head], with the hooks of scores, pattern and z; the observer sees the pattern's tiles.
at::Tensor attend(Pass&, Layer, const AttentionHooks&, const AttentionInput&, const at::Tensor& v);
/// z W_O + b_O [query, d_model]; results that were replaced are summed instead.
at::Tensor combine_heads(Pass&, Layer, const AttentionHooks&, const Linear& o, const at::Tensor& z);

}  // namespace headlight::model
