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

/// Every place of the forward pass where a tensor can be observed, kept or replaced, in the order of the pass of a
/// pre-norm model (post-norm models normalise after the sublayer). Shapes: docs/hooks.md. Names are TransformerLens's.
/// As there, `scale` is sqrt(var + eps) and `normalized` is (x - mean) / scale before gain and bias.
enum class Hook {
    embed,                  ///< hook_embed [pos, d_model]
    pos_embed,              ///< hook_pos_embed [pos, d_model] (learned positions)
    token_type_embed,       ///< hook_token_type_embed [pos, d_model] (BERT)
    embed_norm_scale,       ///< embed_ln.hook_scale [pos, 1]
    embed_norm_normalized,  ///< embed_ln.hook_normalized [pos, d_model]
    embed_projected,        ///< hook_embed_projected [pos, d_model] (ALBERT, ELECTRA: where embeddings are narrower)
    resid_pre,              ///< blocks.L.hook_resid_pre [pos, d_model]
    ln1_scale,              ///< blocks.L.ln1.hook_scale [pos, 1]
    ln1_normalized,         ///< blocks.L.ln1.hook_normalized [pos, d_model]
    q_latent,               ///< blocks.L.attn.hook_q_latent [pos, rank], what queries are made of (DeepSeek), after its norm
    gate,          ///< blocks.L.attn.hook_gate [pos, head, d_value], what gates the mixed values, before its activation (Mamba-2)
    conv_in,       ///< blocks.L.attn.hook_conv_in [pos, channel], values, keys and queries before the convolution
    q,             ///< blocks.L.attn.hook_q [pos, head, d_head], before rotation
    latent,        ///< blocks.L.attn.hook_latent [pos, rank], what keys and values are made of, after its norm
    k,             ///< blocks.L.attn.hook_k [pos, kv_head, d_head]
    v,             ///< blocks.L.attn.hook_v [pos, kv_head, d_value]
    q_norm_scale,  ///< blocks.L.attn.q_norm.hook_scale [pos, head, 1] ([pos, 1, 1] over all heads)
    q_norm_normalized,  ///< blocks.L.attn.q_norm.hook_normalized [pos, head, d_head]
    k_norm_scale,       ///< blocks.L.attn.k_norm.hook_scale [pos, kv_head, 1]
    k_norm_normalized,  ///< blocks.L.attn.k_norm.hook_normalized [pos, kv_head, d_head]
    rot_q,              ///< blocks.L.attn.hook_rot_q [pos, head, d_head] (rotary models)
    rot_k,              ///< blocks.L.attn.hook_rot_k [pos, kv_head, d_head]
    c2p,                ///< blocks.L.attn.hook_c2p [head, query, key], DeBERTa's scaled term q_i.K_r of the score
    p2c,                ///< blocks.L.attn.hook_p2c [head, query, key], its scaled term k_j.Q_r
    content_scores,     ///< blocks.L.attn.hook_content_scores [head, query, key], MLA's scaled score of content …
    rotary_scores,      ///< blocks.L.attn.hook_rotary_scores [head, query, key], … and of what rotates; they sum to the scores
    attn_scores,        ///< blocks.L.attn.hook_attn_scores [head, query, key], scaled, with bias; illegal keys -inf
    sink,               ///< blocks.L.attn.hook_sink [head, query], share of the softmax that goes to no key (GPT-OSS)
    pattern,            ///< blocks.L.attn.hook_pattern [head, query, key]
    step,               ///< blocks.L.attn.hook_step [pos, head], the step of the state's update (Mamba-2)
    decay,              ///< blocks.L.attn.hook_decay [pos, head], rate times step: the logarithm of what stays of the state
    implied,            ///< blocks.L.attn.hook_implied [head, query, key], the unrolled update: signed, no softmax
    z,                  ///< blocks.L.attn.hook_z [pos, head, d_value]
    skipped,            ///< blocks.L.attn.hook_skipped [pos, head, d_value], z plus the head's share of its own value (Mamba-2)
    gated,              ///< blocks.L.attn.hook_gated [pos, head, d_value], the same times the activated gate
    gate_norm_scale,    ///< blocks.L.attn.gate_norm.hook_scale [pos, group], norm of what was gated
    gate_norm_normalized,  ///< blocks.L.attn.gate_norm.hook_normalized [pos, head, d_value]
    result,                ///< blocks.L.attn.hook_result [pos, head, d_model] = z_h W_O^h, without b_O
    ln1_post_scale,        ///< blocks.L.ln1_post.hook_scale [pos, 1] (Gemma 2, OLMo 2: norm of what attention gives)
    ln1_post_normalized,   ///< blocks.L.ln1_post.hook_normalized [pos, d_model]
    attn_out,              ///< blocks.L.hook_attn_out [pos, d_model], with b_O; after ln1_post
    resid_mid,             ///< blocks.L.hook_resid_mid [pos, d_model]
    // The second attention of a decoder with an encoder; `source` is the encoder's positions.
    ln_cross_scale,       ///< blocks.L.ln_cross.hook_scale [pos, 1]
    ln_cross_normalized,  ///< blocks.L.ln_cross.hook_normalized [pos, d_model]
    cross_q,              ///< blocks.L.cross_attn.hook_q [pos, head, d_head]
    cross_k,              ///< blocks.L.cross_attn.hook_k [source, head, d_head]
    cross_v,              ///< blocks.L.cross_attn.hook_v [source, head, d_head]
    cross_scores,         ///< blocks.L.cross_attn.hook_attn_scores [head, pos, source]
    cross_pattern,        ///< blocks.L.cross_attn.hook_pattern [head, pos, source]
    cross_z,              ///< blocks.L.cross_attn.hook_z [pos, head, d_head]
    cross_result,         ///< blocks.L.cross_attn.hook_result [pos, head, d_model]
    cross_attn_out,       ///< blocks.L.hook_cross_attn_out [pos, d_model]
    resid_mid_cross,      ///< blocks.L.hook_resid_mid_cross [pos, d_model]: what the MLP reads there
    ln2_scale,            ///< blocks.L.ln2.hook_scale [pos, 1]
    ln2_normalized,       ///< blocks.L.ln2.hook_normalized [pos, d_model]
    router,               ///< blocks.L.mlp.hook_router [pos, expert], logits of the router (Mixtral and similar models)
    experts,              ///< blocks.L.mlp.hook_experts [pos, expert], weight of each expert; 0: not chosen
    shared_gate,          ///< blocks.L.mlp.hook_shared_gate [pos, 1], weight of the shared expert (Qwen2-MoE)
    mlp_pre,              ///< blocks.L.mlp.hook_pre [pos, d_mlp]
    mlp_pre_linear,       ///< blocks.L.mlp.hook_pre_linear [pos, d_mlp] (gated)
    mlp_post,             ///< blocks.L.mlp.hook_post [pos, d_mlp]
    ln2_post_scale,       ///< blocks.L.ln2_post.hook_scale [pos, 1]
    ln2_post_normalized,  ///< blocks.L.ln2_post.hook_normalized [pos, d_model]
    mlp_out,              ///< blocks.L.hook_mlp_out [pos, d_model]; after ln2_post
    // The convolution beside layer 0 of the larger DeBERTa-v2.
    resid_post_mlp,       ///< blocks.0.hook_resid_post_mlp [pos, d_model]: after ln2, what the convolution is added to
    conv_pre,             ///< blocks.0.conv.hook_pre [pos, d_model], with its bias, before the activation
    conv_out,             ///< blocks.0.hook_conv_out [pos, d_model]: what is added
    ln_conv_scale,        ///< blocks.0.ln_conv.hook_scale [pos, 1]
    ln_conv_normalized,   ///< blocks.0.ln_conv.hook_normalized [pos, d_model]
    resid_post,           ///< blocks.L.hook_resid_post [pos, d_model]
    ln_final_scale,       ///< ln_final.hook_scale [pos, 1]
    ln_final_normalized,  ///< ln_final.hook_normalized [pos, d_model]
    mlm_pre,              ///< mlm_head.hook_pre [pos, d_model] (BERT's masked-word head); class_head.hook_pre of classifiers
    mlm_post,             ///< mlm_head.hook_post [pos, d_model]
    mlm_ln_scale,         ///< mlm_head.ln.hook_scale [pos, 1]
    mlm_ln_normalized,    ///< mlm_head.ln.hook_normalized [pos, d_model]
    projected,            ///< hook_projected [pos, d_projection] (CLIP)
    logits,               ///< logits [pos, vocab]; of pictures [pos, class]; class_logits [pos, class] of texts
};

struct HookPoint {
    Hook hook = Hook::embed;
    Layer layer;  ///< 0 where the hook has no layer
    auto operator<=>(const HookPoint&) const = default;
};

bool has_layer(Hook) noexcept;
/// The summands that some models' scores have, [head, query, key]: DeBERTa's terms, MLA's parts.
inline constexpr Hook kScoreTerms[] = {Hook::c2p, Hook::p2c, Hook::content_scores, Hook::rotary_scores};
bool is_score_term(Hook) noexcept;
/// The one place where names are made: "blocks.3.attn.hook_q".
std::string name_of(HookPoint);
/// The same as a user names it: in an encoder-decoder model "encoder.blocks.3.attn.hook_q", "decoder.…", and of the cross
/// attention "decoder.blocks.3.cross_attn.hook_q"; the logits are the model's.
std::string name_of(HookPoint, const ModelConfig&);
/// What a stack of cross attentions calls its own (q, ln1_scale, resid_pre …) as the decoder calls it (cross_q,
/// ln_cross_scale, resid_mid …); nothing for the others.
std::optional<Hook> in_decoder(Hook of_cross) noexcept;
std::optional<HookPoint> parse_hook(std::string_view name);
/// Every hook that a pass of this model visits, layer by layer.
std::vector<HookPoint> hooks_of(const ModelConfig&);
/// Shape of the tensor a hook sees with a text of so many tokens. `source`: of the encoder's text, where there is one.
std::vector<std::int64_t> shape_of(HookPoint, const ModelConfig&, std::int64_t tokens, std::int64_t source = 0);
/// Shell-style match of a whole name: '*' any run, '?' one character.
bool glob_match(std::string_view pattern, std::string_view name) noexcept;
/// The same of a hook's name; "logits" names class logits too.
bool glob_match(std::string_view pattern, HookPoint, const ModelConfig&);

}  // namespace headlight::model
