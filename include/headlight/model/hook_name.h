// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/ids.h"
#include "headlight/model/config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

/// Every place of the forward pass where a tensor can be looked at, kept or replaced, in the order of the pass of a
/// pre-norm model (post-norm models normalise after the sub-layer). Shapes: docs/hooks.md. Names are TransformerLens's.
/// As there, `scale` is sqrt(var + eps) and `normalized` is (x - mean) / scale before gain and bias.
enum class Hook {
    embed,               ///< hook_embed [pos, d_model]
    pos_embed,           ///< hook_pos_embed [pos, d_model] (learned positions)
    token_type_embed,    ///< hook_token_type_embed [pos, d_model] (BERT)
    embed_norm_scale,    ///< embed_ln.hook_scale [pos, 1]
    embed_norm_normalized, ///< embed_ln.hook_normalized [pos, d_model]
    embed_projected,     ///< hook_embed_projected [pos, d_model] (ALBERT, ELECTRA: where embeddings are narrower)
    resid_pre,           ///< blocks.L.hook_resid_pre [pos, d_model]
    ln1_scale,           ///< blocks.L.ln1.hook_scale [pos, 1]
    ln1_normalized,      ///< blocks.L.ln1.hook_normalized [pos, d_model]
    q,                   ///< blocks.L.attn.hook_q [pos, head, d_head], before rotation
    k,                   ///< blocks.L.attn.hook_k [pos, kv_head, d_head]
    v,                   ///< blocks.L.attn.hook_v [pos, kv_head, d_head]
    q_norm_scale,        ///< blocks.L.attn.q_norm.hook_scale [pos, head, 1] ([pos, 1, 1] over all heads)
    q_norm_normalized,   ///< blocks.L.attn.q_norm.hook_normalized [pos, head, d_head]
    k_norm_scale,        ///< blocks.L.attn.k_norm.hook_scale [pos, kv_head, 1]
    k_norm_normalized,   ///< blocks.L.attn.k_norm.hook_normalized [pos, kv_head, d_head]
    rot_q,               ///< blocks.L.attn.hook_rot_q [pos, head, d_head] (rotary models)
    rot_k,               ///< blocks.L.attn.hook_rot_k [pos, kv_head, d_head]
    c2p,                 ///< blocks.L.attn.hook_c2p [head, query, key], DeBERTa's scaled term q_i.K_r of the score
    p2c,                 ///< blocks.L.attn.hook_p2c [head, query, key], its scaled term k_j.Q_r
    attn_scores,         ///< blocks.L.attn.hook_attn_scores [head, query, key], scaled, with bias; illegal keys -inf
    pattern,             ///< blocks.L.attn.hook_pattern [head, query, key]
    z,                   ///< blocks.L.attn.hook_z [pos, head, d_head]
    result,              ///< blocks.L.attn.hook_result [pos, head, d_model] = z_h W_O^h, without b_O
    ln1_post_scale,      ///< blocks.L.ln1_post.hook_scale [pos, 1] (Gemma 2, OLMo 2: norm of what attention gives)
    ln1_post_normalized, ///< blocks.L.ln1_post.hook_normalized [pos, d_model]
    attn_out,            ///< blocks.L.hook_attn_out [pos, d_model], with b_O; behind ln1_post
    resid_mid,           ///< blocks.L.hook_resid_mid [pos, d_model]
    ln2_scale,           ///< blocks.L.ln2.hook_scale [pos, 1]
    ln2_normalized,      ///< blocks.L.ln2.hook_normalized [pos, d_model]
    mlp_pre,             ///< blocks.L.mlp.hook_pre [pos, d_mlp]
    mlp_pre_linear,      ///< blocks.L.mlp.hook_pre_linear [pos, d_mlp] (gated)
    mlp_post,            ///< blocks.L.mlp.hook_post [pos, d_mlp]
    ln2_post_scale,      ///< blocks.L.ln2_post.hook_scale [pos, 1]
    ln2_post_normalized, ///< blocks.L.ln2_post.hook_normalized [pos, d_model]
    mlp_out,             ///< blocks.L.hook_mlp_out [pos, d_model]; behind ln2_post
    resid_post,          ///< blocks.L.hook_resid_post [pos, d_model]
    ln_final_scale,      ///< ln_final.hook_scale [pos, 1]
    ln_final_normalized, ///< ln_final.hook_normalized [pos, d_model]
    mlm_pre,             ///< mlm_head.hook_pre [pos, d_model] (BERT's masked-word head)
    mlm_post,            ///< mlm_head.hook_post [pos, d_model]
    mlm_ln_scale,        ///< mlm_head.ln.hook_scale [pos, 1]
    mlm_ln_normalized,   ///< mlm_head.ln.hook_normalized [pos, d_model]
    logits,              ///< logits [pos, vocab]
};

struct HookPoint {
    Hook hook = Hook::embed;
    Layer layer;  ///< 0 where the hook has no layer
    auto operator<=>(const HookPoint&) const = default;
};

bool has_layer(Hook) noexcept;
/// The one place where names are made: "blocks.3.attn.hook_q".
std::string name_of(HookPoint);
std::optional<HookPoint> parse_hook(std::string_view name);
/// Every hook that a pass of this model visits, layer by layer.
std::vector<HookPoint> hooks_of(const ModelConfig&);
/// Shape of the tensor a hook sees with a text of so many tokens.
std::vector<std::int64_t> shape_of(Hook, const ModelConfig&, std::int64_t tokens);
/// Shell-style match of a whole name: '*' any run, '?' one character.
bool glob_match(std::string_view pattern, std::string_view name) noexcept;

}  // namespace headlight::model
