# SPDX-License-Identifier: GPL-3.0-or-later
"""Goldens of decoders of 2024 and later (make_golden.py): Llama with the switches that a table names for each kind."""
from types import SimpleNamespace as Switches

import experts
import torch
from decoders import head_norm, norm, rope, rotate, sliding
from more_models import rotate_pairs
from transformers.models.ministral3 import modeling_ministral3


def growth(positions, beta, context):
    """What Ministral 3 multiplies queries with, in float64 until it is used."""
    return 1 + beta * torch.log(1 + torch.floor(positions.double() / context))


modeling_ministral3.get_llama_4_attn_scale = lambda positions, beta, context: growth(positions, beta, context)[:, None, :, None]

# pairs: neighbours rotate as pairs. behind: norms of what attention and MLP write, none of what they read. sandwich: names of norms
# behind attention, in front of the MLP and behind it. whole: one norm over all heads. local: only layers with a window rotate.
# late: queries and keys are normalised behind the rotation.
TABLE = {
    "qwen3_moe": dict(), "ministral": dict(), "ministral3": dict(grows=True), "starcoder2": dict(mlp=("c_fc", None, "c_proj")),
    "olmo3": dict(behind=True, whole=True), "olmoe": dict(whole=True), "granitemoe": dict(block="block_sparse_moe"), "phimoe": dict(),
    "glm": dict(pairs=True), "glm4": dict(pairs=True, sandwich=("post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm")),
    "cohere2": dict(pairs=True, parallel=True, local=True), "ernie4_5": dict(pairs=True), "helium": dict(pairs=True),
    "exaone4": dict(behind=True, local=True), "seed_oss": dict(), "nemotron": dict(mlp=("up_proj", None, "down_proj")),
    "arcee": dict(mlp=("up_proj", None, "down_proj")),
    "apertus": dict(mlp=("up_proj", None, "down_proj"), ln1="attention_layernorm", ln2="feedforward_layernorm"),
    "glm4_moe": dict(),
    "hunyuan_v1_dense": dict(late=("query_layernorm", "key_layernorm")),
}


def plain_mlp(g, n, mlp, names, r):
    """Gated or not, in two matrices or three."""
    first, second, last = (getattr(mlp, name, None) if name else None for name in names)
    if hasattr(mlp, "gate_up_proj"):
        gate, up = r.out_of(mlp.gate_up_proj).chunk(2, dim=-1)
    else:
        gate, up = r.out_of(first), None if second is None else r.out_of(second)
    g[n + "mlp.hook_pre"] = gate
    if up is not None:
        g[n + "mlp.hook_pre_linear"] = up
    g[n + "mlp.hook_post"] = r.into(last)


def decoder(model, r, outputs, tokens):
    from make_golden import Golden
    g, c, t = Golden(), model.config, model.model
    s = Switches(**dict(dict(pairs=False, behind=False, sandwich=None, whole=False, local=False, parallel=False, late=None, grows=False,
                             block="mlp", mlp=("gate_proj", "up_proj", "down_proj"), ln1="input_layernorm",
                             ln2="post_attention_layernorm"), **TABLE[c.model_type]))
    heads, kv = c.num_attention_heads, c.num_key_value_heads
    d = getattr(c, "head_dim", None) or c.hidden_size // heads
    residual = getattr(c, "residual_multiplier", 1.0)
    positions = torch.arange(tokens)[None]
    x = g["hook_embed"] = r.into(t.layers[0])
    for i, b in enumerate(t.layers):
        n, a = f"blocks.{i}.", b.self_attn
        g[n + "hook_resid_pre"] = r.into(b)
        if not s.behind:
            norm(g, n + "ln1", getattr(b, s.ln1), r)
        # OLMoE cuts the very tensors that its projections gave.
        q, k, v = (m(r.into(m)) for m in (a.q_proj, a.k_proj, a.v_proj))
        clip = getattr(c, "clip_qkv", None)
        if clip is not None:
            v = v.clamp(-clip, clip)
        q, k, v = q.view(tokens, heads, d), k.view(tokens, kv, d), v.view(tokens, kv, d)
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        if getattr(a, "q_norm", None) is not None:
            q = head_norm(g, n + "attn.q_norm", a.q_norm, q, s.whole)
            k = head_norm(g, n + "attn.k_norm", a.k_norm, k, s.whole)
        if clip is not None:
            q, k = q.clamp(-clip, clip), k.clamp(-clip, clip)
        window = sliding(c, i)
        if not s.local or c.sliding_window is None or window:
            kinds = (c.layer_types[i],) if c.model_type == "olmo3" else ()
            cos, sin = t.rotary_emb(x[None], positions, *kinds)
            if s.pairs:
                angles = [y[0, :, ::2] if c.model_type == "cohere2" else y[0, :, :y.shape[-1] // 2] for y in (cos, sin)]
                q, k = rotate_pairs(q, *angles), rotate_pairs(k, *angles)
            else:
                q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if s.late:
            q = head_norm(g, n + "attn.q_norm", getattr(a, s.late[0]), q, False)
            k = head_norm(g, n + "attn.k_norm", getattr(a, s.late[1]), k, False)
        if s.grows:
            by = growth(positions[0], *(c.rope_parameters[name] for name in ("llama_4_scaling_beta", "original_max_position_embeddings")))
            q = q * by.to(q.dtype)[:, None, None]
        g[n + "attn.hook_rot_q"], g[n + "attn.hook_rot_k"] = q, k
        o = a.o_proj
        g.attention(n, q, k, v, r.into(o).view(tokens, heads, d), outputs.attentions[i][0], a.scaling, o.weight.T * residual,
                    None if o.bias is None else o.bias * residual, r.out_of(o) * residual, window=window)
        first, second, third = s.sandwich or ("post_attention_layernorm", None, "post_feedforward_layernorm")
        if s.sandwich or s.behind:
            norm(g, n + "ln1_post", getattr(b, first), r)
            g[n + "hook_attn_out"] = r.out_of(getattr(b, first))
        g[n + "hook_resid_mid"] = g[n + "hook_resid_pre"] + g[n + "hook_attn_out"]
        if not s.behind and not s.parallel:
            ln2 = getattr(b, second or s.ln2)
            norm(g, n + "ln2", ln2, r)
            g.same(g[n + "hook_resid_mid"], r.into(ln2), n + "resid_mid")
        block = getattr(b, s.block)
        if hasattr(block, "experts"):
            experts.mlp(g, n, block, r)
        else:
            plain_mlp(g, n, block, s.mlp, r)
        g[n + "hook_mlp_out"] = r.out_of(block) * residual
        if s.sandwich or s.behind:
            norm(g, n + "ln2_post", getattr(b, third), r)
            g[n + "hook_mlp_out"] = r.out_of(getattr(b, third))
        g[n + "hook_resid_post"] = r.out_of(b)
        g.same(g[n + "hook_resid_mid"] + g[n + "hook_mlp_out"], r.out_of(b), n + "resid_post")
    norm(g, "ln_final", t.norm, r)
    g["logits"] = outputs.logits[0]
    return g


KINDS = {kind: decoder for kind in TABLE}


def tiny(T):
    """name: (class, config class, fields, dtype on disk, largest shard)"""
    base = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=20,
                max_position_embeddings=64)
    pair = dict(base, head_dim=6)
    eight = dict(base, head_dim=8)
    local = ["sliding_attention", "full_attention"]
    yarn = dict(rope_type="yarn", rope_theta=100.0, factor=4.0, original_max_position_embeddings=5, beta_fast=2.0, beta_slow=0.5)
    moe = dict(num_experts_per_tok=2, intermediate_size=10)
    table = {
        "qwen3-moe": (T.Qwen3MoeForCausalLM, T.Qwen3MoeConfig, dict(
            pair, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=6, norm_topk_prob=True, attention_bias=True, use_sliding_window=True, sliding_window=5)),
        "ministral": (T.MinistralForCausalLM, T.MinistralConfig, dict(pair, sliding_window=5, layer_types=local)),
        # Queries that grow twice within the text.
        "ministral3": (T.Ministral3ForCausalLM, T.Ministral3Config, dict(
            pair, rope_parameters=dict(yarn, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.3))),
        "starcoder2": (T.Starcoder2ForCausalLM, T.Starcoder2Config, dict(base, sliding_window=6)),
        "starcoder2-plain": (T.Starcoder2ForCausalLM, T.Starcoder2Config, dict(base, use_bias=False, tie_word_embeddings=False)),
        "olmo3": (T.Olmo3ForCausalLM, T.Olmo3Config, dict(base, layer_types=local, sliding_window=5, attention_bias=True, rope_parameters=dict(
            sliding_attention=dict(rope_type="default", rope_theta=20.0), full_attention=dict(yarn, rope_theta=50.0)))),
        "olmoe": (T.OlmoeForCausalLM, T.OlmoeConfig, dict(base, **moe, num_experts=4, clip_qkv=0.9)),
        "granitemoe": (T.GraniteMoeForCausalLM, T.GraniteMoeConfig, dict(
            base, **moe, num_local_experts=4, embedding_multiplier=3.0, logits_scaling=2.5, residual_multiplier=0.4,
            attention_multiplier=0.3, tie_word_embeddings=True)),
        "phimoe": (T.PhimoeForCausalLM, T.PhimoeConfig, dict(base | dict(
            intermediate_size=6, num_experts_per_tok=2, num_local_experts=5, attention_bias=True, lm_head_bias=True, router_jitter_noise=0.5,
            sliding_window=6),
            rope_parameters=dict(rope_type="longrope", rope_theta=100.0, short_factor=[1.0, 1.5], long_factor=[1.2, 3.0],
                                 short_mscale=1.1, long_mscale=1.3, original_max_position_embeddings=8))),
        "glm": (T.GlmForCausalLM, T.GlmConfig, dict(eight)),
        "glm4": (T.Glm4ForCausalLM, T.Glm4Config, dict(eight, attention_bias=False, **rope(theta=100.0, partial_rotary_factor=0.25))),
        "cohere2": (T.Cohere2ForCausalLM, T.Cohere2Config, dict(base, layer_types=local, sliding_window=5, attention_bias=True, logit_scale=0.3)),
        "ernie4_5": (T.Ernie4_5ForCausalLM, T.Ernie4_5Config, dict(pair, use_bias=True)),
        "helium": (T.HeliumForCausalLM, T.HeliumConfig, dict(base, head_dim=4, attention_bias=True, mlp_bias=True)),
        "exaone4": (T.Exaone4ForCausalLM, T.Exaone4Config, dict(pair, layer_types=local, sliding_window=5)),
        "exaone4-global": (T.Exaone4ForCausalLM, T.Exaone4Config, dict(
            base, layer_types=["full_attention"] * 2, sliding_window=None, tie_word_embeddings=True)),
        "seed-oss": (T.SeedOssForCausalLM, T.SeedOssConfig, dict(pair, mlp_bias=True)),
        "nemotron": (T.NemotronForCausalLM, T.NemotronConfig, dict(eight, attention_bias=True, mlp_bias=True, intermediate_size=12)),
        "arcee": (T.ArceeForCausalLM, T.ArceeConfig, dict(pair, mlp_bias=True, rope_parameters=yarn)),
        "apertus": (T.ApertusForCausalLM, T.ApertusConfig, dict(pair, attention_bias=True)),
        "hunyuan": (T.HunYuanDenseV1ForCausalLM, T.HunYuanDenseV1Config, dict(
            pair, attention_bias=True, tie_word_embeddings=True, rope_parameters=dict(rope_type="dynamic", rope_theta=100.0, factor=1.0, alpha=50.0))),
    }
    return {name: (*row, "float32", None) for name, row in table.items()}


def grouped_experts(T):
    """A table of its own, because what stands in a table says which seeds the next ones get."""
    base = dict(hidden_size=16, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, intermediate_size=20,
                max_position_embeddings=64, first_k_dense_replace=1, moe_intermediate_size=6, num_mtp_layers=0)
    table = {
        "glm4-moe": dict(base, head_dim=8, attention_bias=True, use_qk_norm=True, n_routed_experts=6, num_experts_per_tok=3,
                         n_shared_experts=2, n_group=3, topk_group=2, routed_scaling_factor=1.3,
                         rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.25)),
        # As GLM-4.5-Air: one group, no norms; weights that are not normalised.
        "glm4-moe-plain": dict(base, n_routed_experts=4, num_experts_per_tok=2, norm_topk_prob=False,
                               rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5)),
    }
    return {name: (T.Glm4MoeForCausalLM, T.Glm4MoeConfig, fields, "float32", None) for name, fields in table.items()}
