# SPDX-License-Identifier: GPL-3.0-or-later
"""Goldens of the families that are not built like Llama (make_golden.py): decoders with norms in front, and encoders.

Each family is a function that names its modules; `walk` does the rest. See decoders.py for how float64 is had.
"""
import math
from types import SimpleNamespace as Names

import torch

from transformers.models.falcon.modeling_falcon import build_alibi_tensor

from decoders import gain, epsilon, norm, rope, rotate


def rotate_pairs(x, cos, sin):
    """Neighbours as pairs: cos, sin [pos, n / 2] of the first n numbers of [pos, head, d]."""
    n = 2 * cos.shape[-1]
    part, rest = x[..., :n], x[..., n:]
    even, odd = part[..., 0::2], part[..., 1::2]
    cos, sin = cos[:, None], sin[:, None]
    turned = torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1).flatten(-2)
    return torch.cat((turned, rest), dim=-1)


def mpt_slopes(heads, bias_max):
    power = 2 ** math.ceil(math.log2(heads))
    slopes = 1.0 / 2.0 ** (torch.arange(1, power + 1, dtype=torch.float64) * bias_max / power)
    return slopes if power == heads else torch.cat([slopes[1::2], slopes[::2]])[:heads]


def walk(model, r, outputs, tokens, layers, parts):
    """`parts(i, b)` names the modules of layer i: ln1, q, k, v (numbers), o, ln2, fc1, fc2 and what is special."""
    from make_golden import Golden
    g = Golden()
    for i, b in enumerate(layers):
        n, p = f"blocks.{i}.", parts(i, b)
        get = lambda name, default=None: getattr(p, name, default)
        pre = get("pre") if get("pre") is not None else r.into(b)
        g[n + "hook_resid_pre"] = pre
        post = get("post_norm", False)
        if not post and p.ln1 is not None:
            norm(g, n + "ln1", p.ln1, r)
        q, k, v = p.q, p.k, p.v
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        if get("normed") is not None:
            q, k = p.normed(g, n, q, k)
        if get("turn") is not None:
            q, k = p.turn(q), p.turn(k)
            g[n + "attn.hook_rot_q"], g[n + "attn.hook_rot_k"] = q, k
        o = p.o
        g.attention(n, q, k, v, r.into(o).view(tokens, q.shape[1], -1), outputs.attentions[i][0], p.scale, o.weight.T, o.bias,
                    r.out_of(o), get("slopes"), causal=get("causal", True), window=get("window", 0), terms=get("terms"))
        middle = pre + r.out_of(o)
        if post:
            norm(g, n + "ln1", p.ln1, r)
            g.same(middle, r.into(p.ln1), n + "sum")
            middle = r.out_of(p.ln1)
        g[n + "hook_resid_mid"] = middle
        if not post and p.ln2 is not None:
            norm(g, n + "ln2", p.ln2, r)
            if not get("parallel", False):
                g.same(middle, r.into(p.ln2), n + "resid_mid")
        if get("fused") is not None:
            g[n + "mlp.hook_pre"], g[n + "mlp.hook_pre_linear"] = r.out_of(p.fused).chunk(2, dim=-1)
        else:
            g[n + "mlp.hook_pre"] = r.out_of(p.fc1)
            if get("up") is not None:
                g[n + "mlp.hook_pre_linear"] = r.out_of(p.up)
        g[n + "mlp.hook_post"] = r.into(p.fc2)
        g[n + "hook_mlp_out"] = r.out_of(p.fc2)
        after = middle + r.out_of(p.fc2)
        if post:
            norm(g, n + "ln2", p.ln2, r)
            g.same(after, r.into(p.ln2), n + "second sum")
            after = r.out_of(p.ln2)
        g[n + "hook_resid_post"] = after
        if get("check_post", True):
            g.same(after, r.out_of(b), n + "resid_post")
    return g


def heads_of(x, tokens, heads):
    return x.view(tokens, heads, -1)


def gpt_neox(model, r, outputs, tokens):
    t, c = model.gpt_neox, model.config
    heads, d = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    cos, sin = t.rotary_emb(r.out_of(t.embed_in)[None], torch.arange(tokens)[None])

    def parts(i, b):
        q, k, v = r.out_of(b.attention.query_key_value).view(tokens, heads, 3, d).unbind(2)
        return Names(ln1=b.input_layernorm, ln2=b.post_attention_layernorm, q=q, k=k, v=v, turn=lambda x: rotate(x, cos, sin),
                     o=b.attention.dense, scale=d ** -0.5, fc1=b.mlp.dense_h_to_4h, fc2=b.mlp.dense_4h_to_h,
                     parallel=c.use_parallel_residual)
    g = walk(model, r, outputs, tokens, t.layers, parts)
    return finish(g, model, r, outputs, r.out_of(t.embed_in), t.final_layer_norm)


def finish(g, model, r, outputs, embed, final, **more):
    g["hook_embed"] = embed
    g.update(more)
    if final is not None:
        norm(g, "ln_final", final, r)
    if getattr(outputs, "logits", None) is not None:
        g["logits"] = outputs.logits[0]
    return g


def gptj(model, r, outputs, tokens):
    t, c = model.transformer, model.config
    heads, d = c.n_head, c.n_embd // c.n_head
    freq = 1.0 / (10000 ** (torch.arange(0, c.rotary_dim, 2).float() / c.rotary_dim))
    angle = torch.arange(tokens).float()[:, None] * freq
    cos, sin = angle.cos().to(t.wte.weight.dtype), angle.sin().to(t.wte.weight.dtype)

    def parts(i, b):
        q, k, v = (heads_of(r.out_of(m), tokens, heads) for m in (b.attn.q_proj, b.attn.k_proj, b.attn.v_proj))
        return Names(ln1=b.ln_1, ln2=None, q=q, k=k, v=v, turn=lambda x: rotate_pairs(x, cos, sin), o=b.attn.out_proj,
                     scale=d ** -0.5, fc1=b.mlp.fc_in, fc2=b.mlp.fc_out, parallel=True)
    return finish(walk(model, r, outputs, tokens, t.h, parts), model, r, outputs, r.out_of(t.wte), t.ln_f)


def gpt_neo(model, r, outputs, tokens):
    t, c = model.transformer, model.config

    def parts(i, b):
        a = b.attn.attention
        q, k, v = (heads_of(r.out_of(m), tokens, c.num_heads) for m in (a.q_proj, a.k_proj, a.v_proj))
        return Names(ln1=b.ln_1, ln2=b.ln_2, q=q, k=k, v=v, o=a.out_proj, scale=1.0, fc1=b.mlp.c_fc, fc2=b.mlp.c_proj,
                     window=c.window_size if c.attention_layers[i] == "local" else 0)
    return finish(walk(model, r, outputs, tokens, t.h, parts), model, r, outputs, r.out_of(t.wte), t.ln_f,
                  hook_pos_embed=t.wpe.weight[:tokens].clone())


def opt(model, r, outputs, tokens):
    t, c = model.model.decoder, model.config

    def parts(i, b):
        a, heads = b.self_attn, c.num_attention_heads
        q, k, v = (heads_of(r.out_of(m), tokens, heads) for m in (a.q_proj, a.k_proj, a.v_proj))
        return Names(post_norm=not c.do_layer_norm_before, ln1=b.self_attn_layer_norm, ln2=b.final_layer_norm, q=q, k=k, v=v, o=a.out_proj,
                     scale=(c.hidden_size // heads) ** -0.5, fc1=b.fc1, fc2=b.fc2)
    embed = r.out_of(t.embed_tokens if t.project_in is None else t.project_in)
    return finish(walk(model, r, outputs, tokens, t.layers, parts), model, r, outputs, embed, t.final_layer_norm,
                  hook_pos_embed=t.embed_positions.weight[2:tokens + 2].clone())


def falcon(model, r, outputs, tokens):
    t, c = model.transformer, model.config
    heads, d = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    if c.alibi:
        bias = build_alibi_tensor(torch.ones(1, tokens, dtype=torch.long), heads, r.out_of(t.word_embeddings).dtype).view(heads, 1, tokens)
        places = dict(terms=(bias - bias.transpose(1, 2)) * d ** -0.5)  # 0 on the diagonal, as Headlight shows it
    else:
        cos, sin = t.rotary_emb(r.out_of(t.word_embeddings)[None], torch.arange(tokens)[None])
        places = dict(turn=lambda y: rotate(y, cos, sin))

    def parts(i, b):
        a, x = b.self_attention, r.out_of(b.self_attention.query_key_value)
        if c.new_decoder_architecture:
            x = x.view(tokens, c.num_kv_heads, heads // c.num_kv_heads + 2, d)
            q, k, v = x[:, :, :-2].reshape(tokens, heads, d), x[:, :, -2], x[:, :, -1]
        elif c.multi_query:
            x = x.view(tokens, heads + 2, d)
            q, k, v = x[:, :-2], x[:, -2:-1], x[:, -1:]
        else:
            q, k, v = x.view(tokens, heads, 3, d).unbind(2)
        two = hasattr(b, "ln_attn")
        ln2 = b.ln_mlp if two else None if c.parallel_attn else b.post_attention_layernorm
        return Names(ln1=b.ln_attn if two else b.input_layernorm, ln2=ln2, q=q, k=k, v=v,
                     o=a.dense, scale=d ** -0.5, fc1=b.mlp.dense_h_to_4h, fc2=b.mlp.dense_4h_to_h,
                     parallel=c.parallel_attn or c.new_decoder_architecture, **places)
    g = walk(model, r, outputs, tokens, t.h, parts)
    return finish(g, model, r, outputs, r.out_of(t.word_embeddings), t.ln_f)


def mpt(model, r, outputs, tokens):
    t, c = model.transformer, model.config
    heads = c.n_heads

    def parts(i, b):
        x = r.out_of(b.attn.Wqkv)
        if c.attn_config.clip_qkv:
            x = x.clamp(-c.attn_config.clip_qkv, c.attn_config.clip_qkv)
        q, k, v = (heads_of(y, tokens, heads) for y in x.chunk(3, dim=-1))
        return Names(ln1=b.norm_1, ln2=b.norm_2, q=q, k=k, v=v, o=b.attn.out_proj, scale=(c.d_model // heads) ** -0.5,
                     slopes=mpt_slopes(heads, c.attn_config.alibi_bias_max), fc1=b.ffn.up_proj, fc2=b.ffn.down_proj)
    return finish(walk(model, r, outputs, tokens, t.blocks, parts), model, r, outputs, r.out_of(t.wte), t.norm_f)


def phi(model, r, outputs, tokens):
    t, c = model.model, model.config
    heads, kv, d = c.num_attention_heads, c.num_key_value_heads, c.hidden_size // c.num_attention_heads
    cos, sin = t.rotary_emb(r.out_of(t.embed_tokens)[None], torch.arange(tokens)[None])

    def parts(i, b):
        a = b.self_attn
        q, k, v = (heads_of(r.out_of(m), tokens, h) for m, h in ((a.q_proj, heads), (a.k_proj, kv), (a.v_proj, kv)))
        return Names(ln1=b.input_layernorm, ln2=None, q=q, k=k, v=v, turn=lambda x: rotate(x, cos, sin), o=a.dense, scale=d ** -0.5,
                     fc1=b.mlp.fc1, fc2=b.mlp.fc2, parallel=True)
    return finish(walk(model, r, outputs, tokens, t.layers, parts), model, r, outputs, r.out_of(t.embed_tokens), t.final_layernorm)


def gpt_bigcode(model, r, outputs, tokens):
    t, c = model.transformer, model.config
    heads, d = c.n_head, c.n_embd // c.n_head

    def parts(i, b):
        x = r.out_of(b.attn.c_attn)
        if c.multi_query:
            q, k, v = x.split((heads * d, d, d), dim=-1)
            q, k, v = q.view(tokens, heads, d), k.view(tokens, 1, d), v.view(tokens, 1, d)
        else:
            q, k, v = x.view(tokens, heads, 3, d).unbind(2)
        return Names(ln1=b.ln_1, ln2=b.ln_2, q=q, k=k, v=v, o=b.attn.c_proj, scale=d ** -0.5, fc1=b.mlp.c_fc, fc2=b.mlp.c_proj)
    return finish(walk(model, r, outputs, tokens, t.h, parts), model, r, outputs, r.out_of(t.wte), t.ln_f,
                  hook_pos_embed=t.wpe.weight[:tokens].clone())


def cohere(model, r, outputs, tokens):
    t, c = model.model, model.config
    heads, kv, d = c.num_attention_heads, c.num_key_value_heads, c.hidden_size // c.num_attention_heads
    cos, sin = t.rotary_emb(r.out_of(t.embed_tokens)[None], torch.arange(tokens)[None])
    cos, sin = cos[0, :, 0::2], sin[0, :, 0::2]

    def normed(g, n, q, k, a):
        out = []
        for name, module, x in (("q_norm", a.q_norm, q), ("k_norm", a.k_norm, k)):
            centred = x - x.mean(-1, keepdim=True)
            scale = (centred.pow(2).mean(-1, keepdim=True) + epsilon(module)).sqrt()
            g[f"{n}attn.{name}.hook_scale"], g[f"{n}attn.{name}.hook_normalized"] = scale, centred / scale
            out.append(centred / scale * gain(module))
        return out

    def parts(i, b):
        a = b.self_attn
        q, k, v = (heads_of(r.out_of(m), tokens, h) for m, h in ((a.q_proj, heads), (a.k_proj, kv), (a.v_proj, kv)))
        return Names(ln1=b.input_layernorm, ln2=None, q=q, k=k, v=v, turn=lambda x: rotate_pairs(x, cos, sin), o=a.o_proj,
                     normed=(lambda g, n, y, z: normed(g, n, y, z, a)) if c.use_qk_norm else None, scale=d ** -0.5,
                     fc1=b.mlp.gate_proj, up=b.mlp.up_proj, fc2=b.mlp.down_proj, parallel=True)
    return finish(walk(model, r, outputs, tokens, t.layers, parts), model, r, outputs, r.out_of(t.embed_tokens), t.norm)


# ---------------------------------------------------------------- encoders

def embeddings(g, e, r, tokens, first=0, types=True):
    g["hook_embed"] = r.out_of(e.word_embeddings)
    g["hook_pos_embed"] = e.position_embeddings.weight[first:first + tokens].clone()
    if types:
        g["hook_token_type_embed"] = r.out_of(e.token_type_embeddings)
    norm(g, "embed_ln", e.LayerNorm, r)


def mlm_head(g, r, dense, head_norm, outputs):
    g["mlm_head.hook_pre"] = r.out_of(dense)
    g["mlm_head.hook_post"] = r.into(head_norm)
    norm(g, "mlm_head.ln", head_norm, r)
    g["logits"] = outputs.logits[0]


def bert_parts(r, c, tokens):
    heads, d = c.num_attention_heads, c.hidden_size // c.num_attention_heads

    def parts(i, b):
        a = b.attention
        q, k, v = (heads_of(r.out_of(m), tokens, heads) for m in (a.self.query, a.self.key, a.self.value))
        return Names(post_norm=True, causal=False, ln1=a.output.LayerNorm, ln2=b.output.LayerNorm, q=q, k=k, v=v,
                     o=a.output.dense, scale=d ** -0.5, fc1=b.intermediate.dense, fc2=b.output.dense)
    return parts


def roberta(model, r, outputs, tokens):
    t = getattr(model, "roberta", model)
    g = walk(model, r, outputs, tokens, t.encoder.layer, bert_parts(r, model.config, tokens))
    embeddings(g, t.embeddings, r, tokens, first=model.config.pad_token_id + 1)
    if hasattr(model, "lm_head"):
        mlm_head(g, r, model.lm_head.dense, model.lm_head.layer_norm, outputs)
    return g


def electra(model, r, outputs, tokens):
    t = getattr(model, "electra", model)
    g = walk(model, r, outputs, tokens, t.encoder.layer, bert_parts(r, model.config, tokens))
    embeddings(g, t.embeddings, r, tokens)
    if hasattr(t, "embeddings_project"):
        g["hook_embed_projected"] = r.out_of(t.embeddings_project)
    if hasattr(model, "generator_predictions"):
        mlm_head(g, r, model.generator_predictions.dense, model.generator_predictions.LayerNorm, outputs)
    return g


def distilbert(model, r, outputs, tokens):
    t, c = getattr(model, "distilbert", model), model.config

    def parts(i, b):
        a = b.attention
        q, k, v = (heads_of(r.out_of(m), tokens, c.n_heads) for m in (a.q_lin, a.k_lin, a.v_lin))
        return Names(post_norm=True, causal=False, ln1=b.sa_layer_norm, ln2=b.output_layer_norm, q=q, k=k, v=v, o=a.out_lin,
                     scale=(c.dim // c.n_heads) ** -0.5, fc1=b.ffn.lin1, fc2=b.ffn.lin2)
    g = walk(model, r, outputs, tokens, t.transformer.layer, parts)
    embeddings(g, t.embeddings, r, tokens, types=False)
    if hasattr(model, "vocab_transform"):
        mlm_head(g, r, model.vocab_transform, model.vocab_layer_norm, outputs)
    return g


def albert(model, r, outputs, tokens):
    t, c = getattr(model, "albert", model), model.config
    b = t.encoder.albert_layer_groups[0].albert_layers[0]
    heads, g = c.num_attention_heads, None
    for i in range(c.num_hidden_layers):
        one, a = r.at_call(i), b.attention
        q, k, v = (heads_of(one.out_of(m), tokens, heads) for m in (a.query, a.key, a.value))
        parts = Names(post_norm=True, causal=False, ln1=a.LayerNorm, ln2=b.full_layer_layer_norm, q=q, k=k, v=v, o=a.dense,
                      scale=(c.hidden_size // heads) ** -0.5, fc1=b.ffn, fc2=b.ffn_output, check_post=False)
        layer = walk(model, one, Names(attentions=[outputs.attentions[i]]), tokens, [b], lambda _, __: parts)
        if g is None:
            g = layer
        g.update({name.replace("blocks.0.", f"blocks.{i}."): x for name, x in layer.items()})
    embeddings(g, t.embeddings, r, tokens)
    g["hook_embed_projected"] = r.out_of(t.encoder.embedding_hidden_mapping_in)
    mlm_head(g, r, model.predictions.dense, model.predictions.LayerNorm, outputs)
    return g


def modernbert(model, r, outputs, tokens):
    t, c = getattr(model, "model", model), model.config
    heads, d = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    x = r.out_of(t.embeddings.tok_embeddings)

    def parts(i, b):
        q, k, v = r.out_of(b.attn.Wqkv).view(tokens, 3, heads, d).unbind(1)
        cos, sin = t.rotary_emb(x[None], torch.arange(tokens)[None], c.layer_types[i])
        local = c.layer_types[i] == "sliding_attention"
        return Names(causal=False, ln1=None if i == 0 else b.attn_norm, ln2=b.mlp_norm, q=q, k=k, v=v,
                     turn=lambda y: rotate(y, cos, sin), o=b.attn.Wo, scale=d ** -0.5, fused=b.mlp.Wi, fc2=b.mlp.Wo,
                     window=c.local_attention // 2 + 1 if local else 0)
    g = walk(model, r, outputs, tokens, t.layers, parts)
    g["hook_embed"] = x
    norm(g, "embed_ln", t.embeddings.norm, r)
    norm(g, "ln_final", t.final_norm, r)
    if hasattr(model, "head"):
        mlm_head(g, r, model.head.dense, model.head.norm, outputs)
    return g


KINDS = dict(gpt_neox=gpt_neox, gptj=gptj, gpt_neo=gpt_neo, opt=opt, falcon=falcon, mpt=mpt, phi=phi, gpt_bigcode=gpt_bigcode,
             cohere=cohere, roberta=roberta, electra=electra, distilbert=distilbert, albert=albert, modernbert=modernbert)
KINDS["xlm-roberta"] = roberta


def tiny(T):
    """name: (class, config class, fields, dtype on disk, largest shard)"""
    wide = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=20, max_position_embeddings=48)
    gpt = dict(n_embd=16, n_layer=2, n_head=4, n_positions=48, n_inner=20)
    table = {
        "gpt-neox": (T.GPTNeoXForCausalLM, T.GPTNeoXConfig, dict(wide, **rope(theta=100.0, partial_rotary_factor=0.5))),
        "gpt-neox-serial": (T.GPTNeoXForCausalLM, T.GPTNeoXConfig,
                            dict(wide, hidden_size=32, use_parallel_residual=False, **rope(partial_rotary_factor=0.25))),
        "gptj": (T.GPTJForCausalLM, T.GPTJConfig, dict(gpt, n_embd=24, rotary_dim=4)),
        "gpt-neo": (T.GPTNeoForCausalLM, T.GPTNeoConfig, dict(
            hidden_size=16, num_layers=2, attention_types=[[["local", "global"], 1]], num_heads=4, intermediate_size=20,
            window_size=4, max_position_embeddings=48)),
        "opt": (T.OPTForCausalLM, T.OPTConfig, dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, ffn_dim=20,
                                                    max_position_embeddings=46, word_embed_proj_dim=16)),
        "falcon": (T.FalconForCausalLM, T.FalconConfig, dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
                                                             ffn_hidden_size=20, **rope())),
        "falcon-groups": (T.FalconForCausalLM, T.FalconConfig,
                          dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_kv_heads=2, ffn_hidden_size=20,
                               new_decoder_architecture=True, bias=True, **rope())),
        "falcon-serial": (T.FalconForCausalLM, T.FalconConfig,
                          dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, multi_query=False, parallel_attn=False,
                               ffn_hidden_size=20, **rope())),
        "mpt": (T.MptForCausalLM, T.MptConfig, dict(d_model=18, n_heads=6, n_layers=2, max_seq_len=48,
                                                    attn_config=dict(alibi=True, clip_qkv=1.5))),
        "phi": (T.PhiForCausalLM, T.PhiConfig, dict(wide, num_key_value_heads=2, **rope(theta=100.0, partial_rotary_factor=0.5))),
        "gpt-bigcode": (T.GPTBigCodeForCausalLM, T.GPTBigCodeConfig, dict(gpt)),
        "gpt-bigcode-heads": (T.GPTBigCodeForCausalLM, T.GPTBigCodeConfig, dict(gpt, multi_query=False)),
        "cohere": (T.CohereForCausalLM, T.CohereConfig, dict(wide, num_key_value_heads=2, use_qk_norm=True, logit_scale=0.7)),
        "roberta": (T.RobertaForMaskedLM, T.RobertaConfig, dict(wide, type_vocab_size=1)),
        "electra": (T.ElectraForMaskedLM, T.ElectraConfig, dict(wide, embedding_size=12)),
        "distilbert": (T.DistilBertForMaskedLM, T.DistilBertConfig, dict(dim=16, n_layers=2, n_heads=4, hidden_dim=20,
                                                                         max_position_embeddings=40)),
        "albert": (T.AlbertForMaskedLM, T.AlbertConfig, dict(wide, embedding_size=12)),
        "modernbert": (T.ModernBertForMaskedLM, T.ModernBertConfig, dict(
            wide, num_hidden_layers=3, local_attention=6,
            layer_types=["full_attention", "sliding_attention", "full_attention"],
            rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=20.0),
                                 full_attention=dict(rope_type="default", rope_theta=1000.0)))),
    }
    return {name: (*row, "float32", None) for name, row in table.items()}
