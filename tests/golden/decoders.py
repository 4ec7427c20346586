# SPDX-License-Identifier: GPL-3.0-or-later
"""Goldens of decoders built like Llama (make_golden.py): what each family's modules are called and what they leave out.

In float64 these models are lifted as a whole: torch.float32 and Tensor.float() mean float64 while frequencies are made and
the pass runs, so that softmax, norms and rotary angles, which transformers keeps in float32, are not rounded.
"""
import contextlib
import math

import experts
import torch

F64 = torch.float64


@contextlib.contextmanager
def lifted(model, double):
    """Everything that transformers does in float32 whatever the model's type happens in float64."""
    if not double:
        yield
        return
    kept = torch.float, torch.float32, torch.Tensor.float
    torch.float = torch.float32 = F64
    torch.Tensor.float = torch.Tensor.double
    try:
        for module in model.modules():
            dims = getattr(module, "pos_embd_dim", getattr(module, "rotary_dim", None))
            if dims and hasattr(module, "embed_positions"):  # GPT-J's table of frequencies
                angle = torch.arange(module.embed_positions.shape[0]).double()[:, None] * (
                    1.0 / 10000 ** (torch.arange(0, dims, 2).double() / dims))
                module.embed_positions = torch.cat((angle.sin(), angle.cos()), dim=1)
            elif type(module).__name__.endswith("RotaryEmbedding"):
                module.__init__(module.config)  # frequencies once more
        yield
    finally:
        torch.float, torch.float32, torch.Tensor.float = kept


def rotate(x, cos, sin):
    """The first cos.shape[-1] numbers of [pos, head, d], halves as pairs."""
    n = cos.shape[-1]
    part, rest = x[..., :n], x[..., n:]
    cos, sin = cos[0][:, None], sin[0][:, None]
    half = torch.cat((-part[..., n // 2:], part[..., :n // 2]), dim=-1)
    return torch.cat((part * cos + half * sin, rest), dim=-1)


def head_norm(g, name, module, x, of_all_heads):
    """Norm of queries or keys [pos, head, d]."""
    over = (1, 2) if of_all_heads else (2,)
    scale = (x.pow(2).mean(over, keepdim=True) + epsilon(module)).sqrt()
    g[name + ".hook_scale"] = scale
    g[name + ".hook_normalized"] = x / scale
    return x / scale * gain(module).view(-1, x.shape[2])


def norm_of_each_head(g, name, modules, x):
    """LayerNorms of queries or keys [pos, head, d], one for each head (StableLM)."""
    centred = x - x.mean(-1, keepdim=True)
    scale = (centred.pow(2).mean(-1, keepdim=True) + epsilon(modules[0])).sqrt()
    g[name + ".hook_scale"] = scale
    g[name + ".hook_normalized"] = centred / scale
    return centred / scale * torch.stack([m.weight for m in modules])


def epsilon(module):
    return getattr(module, "variance_epsilon", None) or getattr(module, "eps", 1e-5)


def gain(module):
    weight = getattr(module, "weight", None)
    if weight is None:
        return torch.ones(())
    return 1 + weight if type(module).__name__.startswith(("Gemma", "Nemotron")) else weight


def norm(g, name, module, r):
    x = r.into(module)
    rms = "RMSNorm" in type(module).__name__
    centred = x if rms else x - x.mean(-1, keepdim=True)
    scale = (centred.pow(2).mean(-1, keepdim=True) + epsilon(module)).sqrt()
    g[name + ".hook_scale"] = scale
    g[name + ".hook_normalized"] = centred / scale
    bias = getattr(module, "bias", None)
    g.same(centred / scale * gain(module) + (0 if bias is None else bias), r.out_of(module), name)


def sliding(c, layer):
    window = getattr(c, "sliding_window", None)
    types = getattr(c, "layer_types", None)
    if types is not None:
        return window if types[layer] == "sliding_attention" else 0
    return window or 0


def decoder(model, r, outputs, tokens):
    from make_golden import Golden
    g, c, t = Golden(), model.config, model.model
    heads, kv = c.num_attention_heads, c.num_key_value_heads
    d = getattr(c, "head_dim", None) or c.hidden_size // heads
    kind = c.model_type
    positions = torch.arange(tokens)[None]
    residual = getattr(c, "residual_multiplier", 1.0)
    parallel = getattr(c, "use_parallel_residual", False)
    sandwich, behind = kind in ("gemma2", "gemma3_text"), kind == "olmo2"
    x = r.into(t.layers[0])
    g["hook_embed"] = x
    for i, b in enumerate(t.layers):
        n, a = f"blocks.{i}.", b.self_attn
        g[n + "hook_resid_pre"] = r.into(b)
        if not behind:
            norm(g, n + "ln1", b.input_layernorm, r)
        if kind == "phi3":
            q, k, v = r.out_of(a.qkv_proj).split((heads * d, kv * d, kv * d), dim=-1)
        else:
            q, k, v = (r.out_of(m) for m in (a.q_proj, a.k_proj, a.v_proj))
        clip = getattr(c, "clip_qkv", None)
        if clip is not None:
            q, k, v = (y.clamp(-clip, clip) for y in (q, k, v))
        q, k, v = q.view(tokens, heads, d), k.view(tokens, kv, d), v.view(tokens, kv, d)
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        if getattr(a, "q_norm", None) is not None:
            q = head_norm(g, n + "attn.q_norm", a.q_norm, q, behind)
            k = head_norm(g, n + "attn.k_norm", a.k_norm, k, behind)
        if getattr(c, "qk_layernorm", False):
            q = norm_of_each_head(g, n + "attn.q_norm", a.q_layernorm.norms, q)
            k = norm_of_each_head(g, n + "attn.k_norm", a.k_layernorm.norms, k)
        if getattr(a, "use_rope", True):
            args = (c.layer_types[i],) if kind == "gemma3_text" else ()
            cos, sin = t.rotary_emb(x[None], positions, *args)
            if kind == "gpt_oss":  # which keeps an angle once for its pair
                cos, sin = torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        g[n + "attn.hook_rot_q"], g[n + "attn.hook_rot_k"] = q, k
        o = a.o_proj
        g.attention(n, q, k, v, r.into(o).view(tokens, heads, d), outputs.attentions[i][0], a.scaling,
                    o.weight.T * residual, None if o.bias is None else o.bias * residual, r.out_of(o) * residual,
                    window=sliding(c, i), softcap=getattr(c, "attn_logit_softcapping", None), sinks=getattr(a, "sinks", None))
        if sandwich or behind:
            norm(g, n + "ln1_post", b.post_attention_layernorm, r)
            g[n + "hook_attn_out"] = r.out_of(b.post_attention_layernorm)
        g[n + "hook_resid_mid"] = g[n + "hook_resid_pre"] + g[n + "hook_attn_out"]
        if sandwich:
            norm(g, n + "ln2", b.pre_feedforward_layernorm, r)
            g.same(g[n + "hook_resid_mid"], r.into(b.pre_feedforward_layernorm), n + "resid_mid")
        elif not parallel and not behind:
            norm(g, n + "ln2", b.post_attention_layernorm, r)
            g.same(g[n + "hook_resid_mid"], r.into(b.post_attention_layernorm), n + "resid_mid")
        if kind == "gpt_oss":
            experts.clamped_mlp(g, n, b.mlp, r)
        elif hasattr(b.mlp, "experts"):
            experts.mlp(g, n, b.mlp, r)
        else:
            if kind == "phi3":
                gate, up = r.out_of(b.mlp.gate_up_proj).chunk(2, dim=-1)
            else:
                gate, up = r.out_of(b.mlp.gate_proj), r.out_of(b.mlp.up_proj)
            g[n + "mlp.hook_pre"], g[n + "mlp.hook_pre_linear"] = gate, up
            g[n + "mlp.hook_post"] = r.into(b.mlp.down_proj)
        g[n + "hook_mlp_out"] = r.out_of(b.mlp) * residual
        if sandwich or behind:
            norm(g, n + "ln2_post", b.post_feedforward_layernorm, r)
            g[n + "hook_mlp_out"] = r.out_of(b.post_feedforward_layernorm)
        g[n + "hook_resid_post"] = r.out_of(b)
        g.same(g[n + "hook_resid_mid"] + g[n + "hook_mlp_out"], r.out_of(b), n + "resid_post")
    norm(g, "ln_final", t.norm, r)
    g["logits"] = outputs.logits[0]
    return g


KINDS = ("mistral", "qwen2", "qwen3", "smollm3", "granite", "olmo", "olmo2", "stablelm", "phi3", "gemma", "gemma2",
         "gemma3_text") + experts.KINDS


def rope(kind="default", theta=10000.0, **more):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=theta, **more))


def tiny(T):
    """name: (class, config class, fields, dtype on disk, largest shard)"""
    base = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=20,
                max_position_embeddings=64)
    pair = dict(base, head_dim=6)
    layers3 = dict(pair, num_hidden_layers=3)
    table = {
        "llama-yarn": (T.LlamaForCausalLM, T.LlamaConfig, dict(base, head_dim=12, **rope(
            "yarn", 100.0, factor=4.0, original_max_position_embeddings=16, beta_fast=2.0, beta_slow=0.5))),
        "llama-dynamic": (T.LlamaForCausalLM, T.LlamaConfig, dict(base, head_dim=8, **rope("dynamic", factor=2.0)) | dict(
            max_position_embeddings=10)),
        "mistral": (T.MistralForCausalLM, T.MistralConfig, dict(pair, sliding_window=5)),
        "qwen2": (T.Qwen2ForCausalLM, T.Qwen2Config, dict(base, use_sliding_window=True, sliding_window=4, max_window_layers=1)),
        "qwen3": (T.Qwen3ForCausalLM, T.Qwen3Config, dict(pair, tie_word_embeddings=True)),
        "smollm3": (T.SmolLM3ForCausalLM, T.SmolLM3Config, dict(base, no_rope_layer_interval=2, attention_bias=True)),
        "granite": (T.GraniteForCausalLM, T.GraniteConfig, dict(base, attention_bias=True, mlp_bias=True, embedding_multiplier=3.0,
                                                                logits_scaling=2.5, residual_multiplier=0.4,
                                                                attention_multiplier=0.3, tie_word_embeddings=True)),
        "olmo": (T.OlmoForCausalLM, T.OlmoConfig, dict(base, clip_qkv=1.2)),
        "olmo2": (T.Olmo2ForCausalLM, T.Olmo2Config, dict(base)),
        "stablelm": (T.StableLmForCausalLM, T.StableLmConfig, dict(base, hidden_size=32, use_qkv_bias=True)),
        "stablelm-parallel": (T.StableLmForCausalLM, T.StableLmConfig,
                              dict(base, use_parallel_residual=True, **rope(theta=100.0, partial_rotary_factor=0.5))),
        "phi3": (T.Phi3ForCausalLM, T.Phi3Config, dict(base, sliding_window=6, original_max_position_embeddings=8, **rope(
            "longrope", 100.0, short_factor=[1.0, 1.5], long_factor=[1.2, 3.0], original_max_position_embeddings=8))),
        "gemma": (T.GemmaForCausalLM, T.GemmaConfig, dict(pair)),
        "gemma2": (T.Gemma2ForCausalLM, T.Gemma2Config, dict(pair, sliding_window=4, query_pre_attn_scalar=9,
                                                              attn_logit_softcapping=3.0, final_logit_softcapping=6.0)),
        "gemma3": (T.Gemma3ForCausalLM, T.Gemma3TextConfig, dict(
            layers3, sliding_window=4, query_pre_attn_scalar=9,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=20.0),
                                 full_attention=dict(rope_type="linear", rope_theta=1000.0, factor=4.0)))),
    }
    return {name: (*row, "float32", None) for name, row in table.items()}
