# SPDX-License-Identifier: GPL-3.0-or-later
"""Goldens of Llama 4's text model (make_golden.py): attention in chunks, layers without rotation whose queries grow, norms of rotated
queries and keys without a gain, and experts that read their input times its weight."""
import torch

from decoders import norm
from later_decoders import plain_mlp
from more_models import rotate_pairs


def growth(config, tokens):
    """In float64 until it is used."""
    return 1 + config.attn_scale * torch.log1p(torch.floor((torch.arange(tokens).double() + 1) / config.floor_scale))


def unit(g, name, x, epsilon):
    scale = (x.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()
    g[name + ".hook_scale"], g[name + ".hook_normalized"] = scale, x / scale
    return x / scale


def experts(g, name, block, r):
    x = r.into(block)
    weights, logits = block.router(x)
    g[name + "mlp.hook_router"], g[name + "mlp.hook_experts"] = logits, weights
    pre, up, post, values = [], [], [], []
    for e in range(block.num_experts):
        gate, linear_branch = ((x * weights[:, e:e + 1]) @ block.experts.gate_up_proj[e]).chunk(2, dim=-1)
        pre.append(gate)
        up.append(linear_branch)
        values.append(block.experts.down_proj[e])
    shared = block.shared_expert
    pre.append(shared.gate_proj(x))
    up.append(shared.up_proj(x))
    values.append(shared.down_proj.weight.T)
    g[name + "mlp.hook_pre"], g[name + "mlp.hook_pre_linear"] = torch.cat(pre, 1), torch.cat(up, 1)
    g[name + "mlp.hook_post"] = block.experts.act_fn(torch.cat(pre, 1)) * torch.cat(up, 1)
    g.same(g[name + "mlp.hook_post"] @ torch.cat(values), r.out_of(block), name + "mlp")


def decoder(model, r, outputs, tokens):
    from make_golden import Golden
    g, c, t = Golden(), model.config, model.model
    heads, kv, d = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    x = g["hook_embed"] = r.into(t.layers[0])
    angles = t.rotary_emb(x[None], torch.arange(tokens)[None])[0]
    for i, b in enumerate(t.layers):
        n, a = f"blocks.{i}.", b.self_attn
        g[n + "hook_resid_pre"] = r.into(b)
        norm(g, n + "ln1", b.input_layernorm, r)
        q, k, v = (r.out_of(m).view(tokens, -1, d) for m in (a.q_proj, a.k_proj, a.v_proj))
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        if a.use_rope:
            q, k = rotate_pairs(q, angles.real, angles.imag), rotate_pairs(k, angles.real, angles.imag)
            if c.use_qk_norm:
                q = unit(g, n + "attn.q_norm", q, c.rms_norm_eps)
                k = unit(g, n + "attn.k_norm", k, c.rms_norm_eps)
        elif c.attn_temperature_tuning:
            q = q * growth(c, tokens).to(q.dtype)[:, None, None]
        g[n + "attn.hook_rot_q"], g[n + "attn.hook_rot_k"] = q, k
        o = a.o_proj
        chunk = c.attention_chunk_size if c.layer_types[i] == "chunked_attention" else 0
        g.attention(n, q, k, v, r.into(o).view(tokens, heads, d), outputs.attentions[i][0], a.scaling, o.weight.T, o.bias, r.out_of(o),
                    chunk=chunk)
        g[n + "hook_resid_mid"] = g[n + "hook_resid_pre"] + g[n + "hook_attn_out"]
        norm(g, n + "ln2", b.post_attention_layernorm, r)
        g.same(g[n + "hook_resid_mid"], r.into(b.post_attention_layernorm), n + "resid_mid")
        if b.is_moe_layer:
            experts(g, n, b.feed_forward, r)
        else:
            plain_mlp(g, n, b.feed_forward, ("gate_proj", "up_proj", "down_proj"), r)
        g[n + "hook_mlp_out"] = g[n + "mlp.hook_post"] @ b.feed_forward.down_proj.weight.T if not b.is_moe_layer else r.out_of(b.feed_forward)
        g[n + "hook_resid_post"] = r.out_of(b)
        g.same(g[n + "hook_resid_mid"] + g[n + "hook_mlp_out"], r.out_of(b), n + "resid_post")
    norm(g, "ln_final", t.norm, r)
    g["logits"] = outputs.logits[0]
    return g


KINDS = {"llama4_text": decoder}


def tiny(T):
    """As later_decoders.tiny()."""
    base = dict(hidden_size=16, num_attention_heads=4, num_key_value_heads=2, head_dim=6, intermediate_size=10, intermediate_size_mlp=20,
                max_position_embeddings=64, num_local_experts=4, rope_parameters=dict(rope_type="default", rope_theta=100.0))
    table = {
        # As Maverick: dense layers between those with experts, the last layer without rotation; several chunks and growths in the text.
        "llama4": dict(base, num_hidden_layers=4, interleave_moe_layer_step=2, attention_chunk_size=5, floor_scale=4, attn_scale=0.3,
                       attention_bias=True),
        # As Scout: experts everywhere; more than one chosen, no norms, whole texts.
        "llama4-plain": dict(base, num_hidden_layers=2, num_experts_per_tok=2, use_qk_norm=False, attention_chunk_size=None,
                             no_rope_layers=[0, 1], attn_temperature_tuning=False),
    }
    return {name: (T.Llama4ForCausalLM, T.Llama4TextConfig, fields, "float32", None) for name, fields in table.items()}
