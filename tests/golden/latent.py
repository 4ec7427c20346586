# SPDX-License-Identifier: GPL-3.0-or-later
"""Goldens of multi-head latent attention, DeepSeek-V2 and V3 (make_golden.py): keys and values made of one latent for each token."""
import math

import torch

import experts
from decoders import norm, rope


def turned(x, cos, sin, neighbours):
    """[pos, head, d] rotated, each pair where it was. V3's code puts what was neighbours a half apart, in queries as in keys:
    the scores are the same, and here they stay neighbours."""
    cos, sin = cos[:, None], sin[:, None]
    a, b = (x[..., 0::2], x[..., 1::2]) if neighbours else x.chunk(2, dim=-1)
    a, b = a * cos - b * sin, b * cos + a * sin
    return torch.stack((a, b), dim=-1).flatten(-2) if neighbours else torch.cat((a, b), dim=-1)


def angles(model, x, tokens):
    """cos and sin [pos, pair] of what the model rotates by."""
    by = model.model.rotary_emb(x[None], torch.arange(tokens)[None])
    if torch.is_tensor(by):  # V2: complex numbers
        return by[0].real, by[0].imag
    cos, sin = by
    return cos[0].chunk(2, dim=-1)[0], sin[0].chunk(2, dim=-1)[0]


def decoder(model, r, outputs, tokens):
    from make_golden import Golden
    g, c, t = Golden(), model.config, model.model
    heads, content, rotary, values = c.num_attention_heads, c.qk_nope_head_dim, c.qk_rope_head_dim, c.v_head_dim
    x = r.into(t.layers[0])
    g["hook_embed"] = x
    cos, sin = angles(model, x, tokens)
    neighbours = c.model_type == "deepseek_v2" or c.rope_interleave
    later = torch.arange(tokens)[None, :] > torch.arange(tokens)[:, None]
    for i, b in enumerate(t.layers):
        n, a = f"blocks.{i}.", b.self_attn
        g[n + "hook_resid_pre"] = r.into(b)
        norm(g, n + "ln1", b.input_layernorm, r)
        if a.q_lora_rank is not None:
            g[n + "attn.hook_q_latent"] = r.out_of(a.q_a_layernorm)
        q = r.out_of(a.q_proj if a.q_lora_rank is None else a.q_b_proj).view(tokens, heads, content + rotary)
        g[n + "attn.hook_latent"] = r.out_of(a.kv_a_layernorm)
        shared = r.out_of(a.kv_a_proj_with_mqa)[:, c.kv_lora_rank:]  # the rotating key, one for all heads
        # The module is called with the latent as one head.
        up = (g[n + "attn.hook_latent"] @ a.kv_b_proj.weight.T).view(tokens, heads, content + values)
        k = torch.cat((up[..., :content], shared[:, None].expand(tokens, heads, rotary)), dim=-1)
        v = up[..., content:].contiguous()
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        q, k = (torch.cat((y[..., :content], turned(y[..., content:], cos, sin, neighbours)), dim=-1) for y in (q, k))
        g[n + "attn.hook_rot_q"], g[n + "attn.hook_rot_k"] = q, k
        for name, part in (("content", slice(0, content)), ("rotary", slice(content, None))):
            scores = torch.einsum("ihd,jhd->hij", q[..., part], k[..., part]) * a.scaling
            g[n + f"attn.hook_{name}_scores"] = scores.masked_fill(later, -math.inf)
        o = a.o_proj
        g.attention(n, q, k, v, r.into(o).view(tokens, heads, values), outputs.attentions[i][0], a.scaling, o.weight.T, None,
                    r.out_of(o))
        g[n + "hook_resid_mid"] = g[n + "hook_resid_pre"] + g[n + "hook_attn_out"]
        norm(g, n + "ln2", b.post_attention_layernorm, r)
        g.same(g[n + "hook_resid_mid"], r.into(b.post_attention_layernorm), n + "resid_mid")
        if hasattr(b.mlp, "experts"):
            experts.mlp(g, n, b.mlp, r)
        else:
            g[n + "mlp.hook_pre"], g[n + "mlp.hook_pre_linear"] = r.out_of(b.mlp.gate_proj), r.out_of(b.mlp.up_proj)
            g[n + "mlp.hook_post"] = r.into(b.mlp.down_proj)
        g[n + "hook_mlp_out"] = r.out_of(b.mlp)
        g[n + "hook_resid_post"] = r.out_of(b)
        g.same(g[n + "hook_resid_mid"] + g[n + "hook_mlp_out"], r.out_of(b), n + "resid_post")
    norm(g, "ln_final", t.norm, r)
    g["logits"] = outputs.logits[0]
    return g


KINDS = {"deepseek_v2": decoder, "deepseek_v3": decoder}


def tiny(T):
    """As decoders.tiny()."""
    base = dict(hidden_size=16, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=4, intermediate_size=20,
                max_position_embeddings=64, first_k_dense_replace=1, moe_intermediate_size=6)
    # No number twice: a width in the place of another is seen.
    sizes = dict(kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5, rms_norm_eps=1e-5)
    yarn = rope("yarn", 100.0, factor=4.0, original_max_position_embeddings=16, beta_fast=2.0, beta_slow=0.5, mscale=0.8,
                mscale_all_dim=0.6)
    table = {
        # As V2-Lite: queries of the stream, the experts with the largest weights.
        "deepseek-v2": (T.DeepseekV2ForCausalLM, T.DeepseekV2Config, dict(
            base, **sizes, q_lora_rank=None, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, topk_method="greedy",
            **rope(theta=100.0))),
        # As V2: queries of a latent of their own, groups of experts, YaRN with both of its factors.
        "deepseek-v2-groups": (T.DeepseekV2ForCausalLM, T.DeepseekV2Config, dict(
            base, **sizes, q_lora_rank=7, n_routed_experts=6, num_experts_per_tok=3, n_shared_experts=2, n_group=3, topk_group=2,
            topk_method="group_limited_greedy", routed_scaling_factor=1.7, **yarn)),
        "deepseek-v3": (T.DeepseekV3ForCausalLM, T.DeepseekV3Config, dict(
            base, **sizes, q_lora_rank=7, n_routed_experts=6, num_experts_per_tok=3, n_shared_experts=1, n_group=3, topk_group=2,
            routed_scaling_factor=1.3, num_mtp_layers=0, **yarn)),
        # Values wider than keys, pairs a half apart, weights that are not normalised, experts in every layer.
        "deepseek-v3-halves": (T.DeepseekV3ForCausalLM, T.DeepseekV3Config, dict(
            base, **dict(sizes, v_head_dim=12), q_lora_rank=None, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1,
            n_group=2, topk_group=1, norm_topk_prob=False, rope_interleave=False, num_mtp_layers=0, **rope(theta=100.0)) | dict(
                first_k_dense_replace=0, num_hidden_layers=2)),
    }
    return {name: (*row, "float32", None) for name, row in table.items()}
