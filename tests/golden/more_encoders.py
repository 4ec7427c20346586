# SPDX-License-Identifier: GPL-3.0-or-later
"""Goldens of DeBERTa-v2, NomicBERT and later encoders (make_golden.py), on the walk of more_models.py."""
from types import SimpleNamespace as Names

import torch
from transformers.models.deberta_v2 import modeling_deberta_v2

from decoders import norm, rope, rotate
from more_models import embeddings, heads_of, mlm_head, walk


def relative_terms(a, table, q, k):
    """The two terms of the score by the paper's formula (He et al. 2021, equation 4): [head, query, key], None: not there."""
    tokens, heads, d = q.shape
    scale = (d * (1 + len(a.pos_att_type))) ** -0.5
    distance = torch.arange(tokens)[:, None] - torch.arange(tokens)[None, :]
    if hasattr(a, "in_proj"):  # DeBERTa 1: no buckets, nothing shared
        span, own_key, own_query = a.max_relative_positions, getattr(a, "pos_proj", None), getattr(a, "pos_q_proj", None)
        shared_key = shared_query = None
    else:
        span, own_key, own_query = a.pos_ebd_size, getattr(a, "pos_key_proj", None), getattr(a, "pos_query_proj", None)
        shared_key, shared_query = (a.key_proj, a.query_proj) if a.share_att_key else (None, None)
        if a.position_buckets > 0:
            distance = modeling_deberta_v2.make_log_bucket_position(distance, a.position_buckets, a.max_relative_positions)
    row = (distance.long() + span).clamp(0, 2 * span - 1)
    vectors = lambda own, shared: heads_of((shared or own)(table), table.shape[0], heads)[row]
    c2p = p2c = None
    if "c2p" in a.pos_att_type:
        c2p = torch.einsum("ihd,ijhd->hij", q, vectors(own_key, shared_key)) * scale
    if "p2c" in a.pos_att_type:
        p2c = torch.einsum("jhd,ijhd->hij", k, vectors(own_query, shared_query)) * scale
    return c2p, p2c


def heads_of_layer(a, r, tokens, heads):
    """q, k, v with their biases; DeBERTa 1 has them side by side for each head, the keys without one."""
    if not hasattr(a, "in_proj"):
        return [heads_of(r.calls[m][0][1], tokens, heads) for m in (a.query_proj, a.key_proj, a.value_proj)]
    q, k, v = heads_of(r.out_of(a.in_proj), tokens, heads).chunk(3, dim=-1)
    return [q + a.q_bias.view(heads, -1), k, v + a.v_bias.view(heads, -1)]


def convolution(g, layer, r):
    """Beside layer 0: the stream goes on behind it, so that hook_resid_post of that layer is what layer 1 reads."""
    from transformers.activations import ACT2FN
    n = "blocks.0."
    g[n + "hook_resid_post_mlp"] = g[n + "hook_resid_post"]
    g[n + "conv.hook_pre"] = r.out_of(layer.conv).T
    g[n + "hook_conv_out"] = ACT2FN[layer.conv_act](g[n + "conv.hook_pre"])
    g.same(g[n + "hook_resid_post_mlp"] + g[n + "hook_conv_out"], r.into(layer.LayerNorm), n + "sum of the convolution")
    norm(g, n + "ln_conv", layer.LayerNorm, r)
    g[n + "hook_resid_post"] = r.out_of(layer)
    g.same(g[n + "hook_resid_post"], g["blocks.1.hook_resid_pre"], n + "resid_post")


def deberta(model, r, outputs, tokens):
    t, c = getattr(model, "deberta", model), model.config
    heads, d = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    table = t.encoder.get_rel_embedding() if t.encoder.relative_attention else None
    terms = {}

    def parts(i, b):
        a, out = b.attention.self, b.attention.output
        q, k, v = heads_of_layer(a, r, tokens, heads)
        c2p, p2c = (None, None) if table is None else relative_terms(a, table, q, k)
        for name, term in (("c2p", c2p), ("p2c", p2c)):
            if term is not None:
                terms[f"blocks.{i}.attn.hook_{name}"] = term
        present = [x for x in (c2p, p2c) if x is not None]
        return Names(post_norm=True, causal=False, ln1=out.LayerNorm, ln2=b.output.LayerNorm, q=q, k=k, v=v, o=out.dense,
                     scale=(d * (1 + len(c.pos_att_type or []))) ** -0.5, fc1=b.intermediate.dense, fc2=b.output.dense,
                     terms=sum(present) if present else None)
    g = walk(model, r, outputs, tokens, t.encoder.layer, parts)
    g.update(terms)
    if getattr(t.encoder, "conv", None) is not None:
        convolution(g, t.encoder.conv, r)
    e = t.embeddings
    g["hook_embed"] = r.out_of(e.word_embeddings)
    if c.position_biased_input:
        g["hook_pos_embed"] = e.position_embeddings.weight[:tokens].clone()
    if c.type_vocab_size > 0:
        g["hook_token_type_embed"] = r.out_of(e.token_type_embeddings)
    norm(g, "embed_ln", e.LayerNorm, r)
    if hasattr(model, "cls"):
        head = model.cls.predictions.transform
        mlm_head(g, r, head.dense, head.LayerNorm, outputs)
    elif hasattr(model, "lm_predictions"):
        mlm_head(g, r, model.lm_predictions.lm_head.dense, model.lm_predictions.lm_head.LayerNorm, outputs)
    return g


def nomic_bert(model, r, outputs, tokens):
    t, c = getattr(model, "nomic_bert", model), model.config
    heads = c.num_attention_heads
    x = r.out_of(t.embeddings.word_embeddings)
    cos, sin = t.rotary_emb(x[None], torch.arange(tokens)[None])

    def parts(i, b):
        a = b.self_attn
        q, k, v = (heads_of(r.out_of(m), tokens, heads) for m in (a.q_proj, a.k_proj, a.v_proj))
        return Names(post_norm=True, causal=False, ln1=b.post_attention_layernorm, ln2=b.post_mlp_layernorm, q=q, k=k, v=v,
                     turn=lambda y: rotate(y, cos, sin), o=a.o_proj, scale=a.scaling, fc1=b.mlp.gate_proj, up=b.mlp.up_proj,
                     fc2=b.mlp.down_proj)
    g = walk(model, r, outputs, tokens, t.layers, parts)
    g["hook_embed"] = x
    g["hook_token_type_embed"] = r.out_of(t.embeddings.token_type_embeddings)
    norm(g, "embed_ln", t.embeddings.LayerNorm, r)
    if hasattr(model, "cls"):
        head = model.cls.predictions.transform
        mlm_head(g, r, head.dense, head.layer_norm, outputs)
    return g


def mpnet(model, r, outputs, tokens):
    t, c = getattr(model, "mpnet", model), model.config
    heads, d = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    bias = t.encoder.compute_position_bias(torch.zeros(1, tokens, 1))[0].to(outputs.logits.dtype)

    def parts(i, b):
        a = b.attention.attn
        q, k, v = (heads_of(r.out_of(m), tokens, heads) for m in (a.q, a.k, a.v))
        return Names(post_norm=True, causal=False, ln1=b.attention.LayerNorm, ln2=b.output.LayerNorm, q=q, k=k, v=v, o=a.o,
                     scale=d ** -0.5, fc1=b.intermediate.dense, fc2=b.output.dense, terms=bias)
    g = walk(model, r, outputs, tokens, t.encoder.layer, parts)
    e = t.embeddings
    g["hook_embed"] = r.out_of(e.word_embeddings)
    g["hook_pos_embed"] = r.out_of(e.position_embeddings)
    norm(g, "embed_ln", e.LayerNorm, r)
    mlm_head(g, r, model.lm_head.dense, model.lm_head.layer_norm, outputs)
    return g


def esm(model, r, outputs, tokens):
    t, c = model.esm, model.config
    heads, d = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    rotary = c.position_embedding_type == "rotary"
    x = r.out_of(t.embeddings)
    if rotary:
        cos, sin = t.rotary_embeddings(x[None], torch.arange(tokens)[None])

    def parts(i, b):
        a = b.attention
        q, k, v = (heads_of(r.out_of(m), tokens, heads) for m in (a.self.query, a.self.key, a.self.value))
        return Names(causal=False, ln1=a.LayerNorm, ln2=b.LayerNorm, q=q, k=k, v=v, turn=(lambda y: rotate(y, cos, sin)) if rotary else None,
                     o=a.output.dense, scale=d ** -0.5, fc1=b.intermediate.dense, fc2=b.output.dense)
    g = walk(model, r, outputs, tokens, t.encoder.layer, parts)
    e = t.embeddings
    g["hook_embed"] = r.out_of(e.word_embeddings)
    if c.token_dropout:
        hidden = r.into_ids == c.mask_token_id
        g["hook_embed"] = g["hook_embed"].masked_fill(hidden[:, None], 0) * (1 - 0.15 * 0.8) / (1 - hidden.double().mean())
    if not rotary:
        g["hook_pos_embed"] = r.out_of(e.position_embeddings)
    if e.layer_norm is not None:
        norm(g, "embed_ln", e.layer_norm, r)
    norm(g, "ln_final", t.encoder.emb_layer_norm_after, r)
    mlm_head(g, r, model.lm_head.dense, model.lm_head.layer_norm, outputs)
    return g


def eurobert(model, r, outputs, tokens):
    t, c = model.model, model.config
    d = c.head_dim or c.hidden_size // c.num_attention_heads
    x = r.out_of(t.embed_tokens)
    cos, sin = t.rotary_emb(x[None], torch.arange(tokens)[None])

    def parts(i, b):
        a = b.self_attn
        q, k, v = (r.out_of(m).view(tokens, -1, d) for m in (a.q_proj, a.k_proj, a.v_proj))
        return Names(causal=False, ln1=b.input_layernorm, ln2=b.post_attention_layernorm, q=q, k=k, v=v, turn=lambda y: rotate(y, cos, sin),
                     o=a.o_proj, scale=a.scaling, fc1=b.mlp.gate_proj, up=b.mlp.up_proj, fc2=b.mlp.down_proj)
    g = walk(model, r, outputs, tokens, t.layers, parts)
    g["hook_embed"] = x
    norm(g, "ln_final", t.norm, r)
    g["logits"] = outputs.logits[0]
    return g


def modernbert_decoder(model, r, outputs, tokens):
    t, c = model.model, model.config
    d = c.hidden_size // c.num_attention_heads
    x = r.out_of(t.embeddings.tok_embeddings)

    def parts(i, b):
        a, kind = b.attn, c.layer_types[i]
        q, k, v = (r.out_of(m).view(tokens, -1, d) for m in (a.q_proj, a.k_proj, a.v_proj))
        cos, sin = t.rotary_emb(x[None], torch.arange(tokens)[None], kind)
        return Names(ln1=b.attn_norm if i > 0 else None, ln2=b.mlp_norm, q=q, k=k, v=v, turn=lambda y: rotate(y, cos, sin), o=a.Wo,
                     scale=a.scaling, fused=b.mlp.Wi, fc2=b.mlp.Wo, window=c.sliding_window if kind == "sliding_attention" else 0)
    g = walk(model, r, outputs, tokens, t.layers, parts)
    g["hook_embed"] = x
    norm(g, "embed_ln", t.embeddings.norm, r)
    norm(g, "ln_final", t.final_norm, r)
    mlm_head(g, r, model.lm_head.dense, model.lm_head.norm, outputs)
    return g


class Trimmed:
    """What a recorder saw, without the padding behind the text."""

    def __init__(self, r, tokens):
        self.r, self.tokens = r, tokens

    def into(self, module):
        return self.r.into(module)[:self.tokens]

    def out_of(self, module):
        return self.r.out_of(module)[:self.tokens]


def unfolded(band, tokens):
    """[head, query, key] of [head, query, offset], whose middle offset is the query itself."""
    heads, _, width = band.shape
    whole = torch.zeros(heads, tokens, tokens, dtype=band.dtype)
    for offset in range(width):
        for i in range(tokens):
            j = i + offset - width // 2
            if 0 <= j < tokens:
                whole[:, i, j] = band[:, i, offset]
    return whole


def longformer(model, r, outputs, tokens):
    t, c, r = getattr(model, "longformer", model), model.config, Trimmed(r, tokens)
    heads, d = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    whole = Names(attentions=[unfolded(band[0], tokens)[None] for band in outputs.attentions])

    def parts(i, b):
        a, x = b.attention, r.into(b)
        q, k, v = (heads_of(m(x), tokens, heads) for m in (a.self.query, a.self.key, a.self.value))
        return Names(post_norm=True, causal=False, ln1=a.output.LayerNorm, ln2=b.output.LayerNorm, q=q, k=k, v=v, o=a.output.dense,
                     scale=d ** -0.5, fc1=b.intermediate.dense, fc2=b.output.dense, window=c.attention_window[i] // 2 + 1)
    g = walk(model, r, whole, tokens, t.encoder.layer, parts)
    embeddings(g, t.embeddings, r, tokens, first=c.pad_token_id + 1)
    mlm_head(g, r, model.lm_head.dense, model.lm_head.layer_norm, outputs)
    return g


LATER = {"longformer": longformer, "mpnet": mpnet, "esm": esm, "eurobert": eurobert, "modernbert-decoder": modernbert_decoder}
KINDS = {"deberta": deberta, "deberta-v2": deberta, "nomic_bert": nomic_bert} | LATER


def tiny(T):
    """name: (class, config class, fields, dtype on disk, largest shard)"""
    wide = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20, max_position_embeddings=48)
    relative = dict(wide, relative_attention=True)
    table = {
        # As v3: buckets by the logarithm beyond 3, one projection for content and position.
        "deberta": (T.DebertaV2ForMaskedLM, T.DebertaV2Config,
                    dict(relative, position_buckets=6, max_relative_positions=16, share_att_key=True, norm_rel_ebd="layer_norm",
                         pos_att_type=["p2c", "c2p"], position_biased_input=False)),
        # Everything the other way: projections of their own, clamped distances, absolute positions and token types too.
        "deberta-c2p": (T.DebertaV2ForMaskedLM, T.DebertaV2Config,
                        dict(relative, max_relative_positions=5, pos_att_type=["c2p"], type_vocab_size=2, legacy=False)),
        "deberta-p2c": (T.DebertaV2ForMaskedLM, T.DebertaV2Config,
                        dict(relative, position_buckets=8, max_relative_positions=12, pos_att_type="p2c", tie_word_embeddings=False)),
        "nomic-bert": (T.NomicBertForMaskedLM, T.NomicBertConfig, dict(wide, **rope(theta=100.0))),
    }
    return {name: (*row, "float32", None) for name, row in table.items()}


def convolved(T):
    """The larger DeBERTa-v2; a table of its own, because what stands in a table says which seeds the next ones get."""
    relative = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=20, max_position_embeddings=48,
                    relative_attention=True)
    table = {
        # As v2-xlarge.
        "deberta-conv": dict(relative, position_buckets=6, max_relative_positions=16, share_att_key=True, norm_rel_ebd="layer_norm",
                             pos_att_type=["p2c", "c2p"], position_biased_input=False, conv_kernel_size=3, conv_act="gelu"),
        # The reference's own activation (tanh), groups, a wider kernel.
        "deberta-conv-groups": dict(relative, max_relative_positions=5, pos_att_type=["c2p"], conv_kernel_size=5, conv_groups=2),
    }
    return {name: (T.DebertaV2ForMaskedLM, T.DebertaV2Config, fields, "float32", None) for name, fields in table.items()}


def later(T):
    """A table of its own for the same reason."""
    wide = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=20, max_position_embeddings=48)
    kinds = ["full_attention", "sliding_attention", "sliding_attention"]
    table = {
        "mpnet": (T.MPNetForMaskedLM, T.MPNetConfig, dict(wide)),
        # As ESM-2, and as ESM-1b; some tokens are masked.
        "esm": (T.EsmForMaskedLM, T.EsmConfig, dict(wide, position_embedding_type="rotary", token_dropout=True, mask_token_id=12)),
        "esm-learned": (T.EsmForMaskedLM, T.EsmConfig, dict(wide, emb_layer_norm_before=True, mask_token_id=4)),
        "eurobert": (T.EuroBertForMaskedLM, T.EuroBertConfig, dict(wide, num_key_value_heads=2, mlp_bias=True, attention_bias=True)),
        "modernbert-decoder": (T.ModernBertDecoderForCausalLM, T.ModernBertDecoderConfig, dict(
            wide, num_hidden_layers=3, local_attention=8, layer_types=kinds)),
    }
    return {name: (*row, "float32", None) for name, row in table.items()}


def first_deberta(T):
    """DeBERTa 1, likewise."""
    wide = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=20, max_position_embeddings=48)
    table = {
        # As deberta-base, but distances beyond the table.
        "deberta-v1": dict(wide, relative_attention=True, max_relative_positions=6, pos_att_type="c2p|p2c", position_biased_input=False),
        # The other head and the other embeddings; no clamped distance.
        "deberta-v1-c2p": dict(wide, relative_attention=True, max_relative_positions=-1, pos_att_type=["c2p"], type_vocab_size=2,
                               legacy=False),
    }
    return {name: (T.DebertaForMaskedLM, T.DebertaConfig, fields, "float32", None) for name, fields in table.items()}


def windows(T):
    """Longformer, likewise: a text that is no multiple of the wider window."""
    fields = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=20, max_position_embeddings=48,
                  attention_window=[4, 8])
    return {"longformer": (T.LongformerForMaskedLM, T.LongformerConfig, fields, "float32", None)}
