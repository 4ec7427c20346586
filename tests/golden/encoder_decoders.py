#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny encoder-decoder models in tests/fixtures/encoder_decoders, and what transformers computes at every hook.

    python tests/golden/encoder_decoders.py [--only NAME]
    python tests/golden/encoder_decoders.py --folder DIR --text SOURCE --target TARGET --out FILE   any such model folder

Goldens hold the ids of source and target, and the hooks of the encoder ("encoder.…"), of the decoder ("decoder.…",
"logits") and of its cross attention ("decoder.blocks.L.cross_attn.…"). Weights and precisions: see make_golden.py.
"""
import argparse
import contextlib
import math
import pathlib
import shutil

import tokenizers
import torch
import transformers as T
from safetensors import safe_open
from safetensors.torch import save_file
from tokenizers import decoders as token_decoders, models, normalizers, pre_tokenizers, processors
from transformers.models.mt5 import modeling_mt5
from transformers.models.t5 import modeling_t5
from transformers.models.umt5 import modeling_umt5

import make_golden
from decoders import lifted
from more_encoders import Trimmed, unfolded

MODELS = make_golden.ROOT / "fixtures" / "encoder_decoders"
GOLDEN = make_golden.GOLDEN / "encoder_decoders"
F64 = torch.float64
_float = torch.Tensor.float


def attend(g, names, q, k, v, z, pattern, scale, w_o, b_o, out, bias=None, causal=False, window=0):
    """`names` is (of the attention, of what it writes); q [query, head, d], k and v [key, head, d]; `window` as in make_golden.py."""
    inside, written = names
    scores = torch.einsum("ihd,jhd->hij", q, k) * scale
    if bias is not None:
        scores = scores + bias
    if causal:
        i, j = torch.arange(q.shape[0])[:, None], torch.arange(k.shape[0])[None, :]
        scores = scores.masked_fill(j > i, -math.inf)
    if window:
        i, j = torch.arange(q.shape[0])[:, None], torch.arange(k.shape[0])[None, :]
        scores = scores.masked_fill((i - j).abs() >= window, -math.inf)
    g.same(make_golden._softmax(scores, dim=-1), pattern, inside + "pattern")
    g.same(torch.einsum("hij,jhd->ihd", pattern, v), z, inside + "z")
    result = torch.einsum("ihd,hdm->ihm", z, w_o.reshape(q.shape[1], -1, w_o.shape[1]))
    g.same(result.sum(1) + (0 if b_o is None else b_o), out, written)
    for name, t in (("q", q), ("k", k), ("v", v), ("attn_scores", scores), ("pattern", pattern), ("z", z), ("result", result)):
        g[inside + "hook_" + name] = t
    g[written] = out


def t5(model, r, outputs):
    g, c = make_golden.Golden(), model.config
    heads = c.num_heads
    split = lambda m: r.out_of(m).view(-1, heads, c.d_kv)

    def stack(s, patterns, prefix, cross_patterns=None):
        causal = cross_patterns is not None
        g[prefix + "hook_embed"] = r.into(s.block[0])
        tokens = g[prefix + "hook_embed"].shape[0]
        for i, b in enumerate(s.block):
            n, a = f"{prefix}blocks.{i}.", b.layer[0].SelfAttention
            x = r.into(b)
            g[n + "hook_resid_pre"] = x
            if a.has_relative_attention_bias:  # the first layer's serves all, or each has one (UMT5)
                bias = a.compute_bias(tokens, tokens)[0]
            g.norm(n + "ln1", b.layer[0].layer_norm, r, rms=True)
            attend(g, (n + "attn.", n + "hook_attn_out"), split(a.q), split(a.k), split(a.v), r.into(a.o).view(-1, heads, c.d_kv),
                   patterns[i][0], 1.0, a.o.weight.T, None, r.out_of(a.o), bias, causal)
            x = x + r.out_of(a.o)
            g[n + "hook_resid_mid"] = x
            if causal:
                a = b.layer[1].EncDecAttention
                g.norm(n + "ln_cross", b.layer[1].layer_norm, r, rms=True)
                attend(g, (n + "cross_attn.", n + "hook_cross_attn_out"), split(a.q), split(a.k), split(a.v),
                       r.into(a.o).view(-1, heads, c.d_kv), cross_patterns[i][0], 1.0, a.o.weight.T, None, r.out_of(a.o))
                x = x + r.out_of(a.o)
                g[n + "hook_resid_mid_cross"] = x
            ff = b.layer[-1]
            g.same(x, r.into(ff.layer_norm), n + "what the MLP reads")
            g.norm(n + "ln2", ff.layer_norm, r, rms=True)
            dense = ff.DenseReluDense
            gated = hasattr(dense, "wi_0")
            g[n + "mlp.hook_pre"] = r.out_of(dense.wi_0 if gated else dense.wi)
            if gated:
                g[n + "mlp.hook_pre_linear"] = r.out_of(dense.wi_1)
            g[n + "mlp.hook_post"] = r.into(dense.wo)
            g[n + "hook_mlp_out"] = r.out_of(dense.wo)
            g[n + "hook_resid_post"] = x + r.out_of(dense.wo)
            g.same(g[n + "hook_resid_post"], r.out_of(b), n + "resid_post")
        g.norm(prefix + "ln_final", s.final_layer_norm, r, rms=True)

    stack(model.encoder, outputs.encoder_attentions, "encoder.")
    stack(model.decoder, outputs.decoder_attentions, "decoder.", outputs.cross_attentions)
    g["logits"] = outputs.logits[0]
    return g


def bart(model, r, outputs):
    """BART, mBART (norms in front, one more at the end), Marian (no norm behind the embedding), Pegasus and M2M-100 (both), LED
    (windows in the encoder, whose tensors have padding behind the text)."""
    g, c = make_golden.Golden(), model.config
    pre_norm = c.model_type in ("mbart", "pegasus", "m2m_100")

    everything, sources = r, outputs.encoder_last_hidden_state.shape[1]

    def stack(s, layers, heads, patterns, prefix, cross_patterns=None):
        causal = cross_patterns is not None
        r = everything if causal else Trimmed(everything, sources)
        # LED calls it once more for the padding.
        embed = everything.calls[s.embed_tokens][-1 if causal else 0][1] * (1 if hasattr(s.embed_tokens, "embed_scale") else getattr(s, "embed_scale", 1))
        g[prefix + "hook_embed"] = embed
        positions = r.out_of(s.embed_positions)[:embed.shape[0]]
        g[prefix + "hook_pos_embed"] = positions
        if hasattr(s, "layernorm_embedding"):
            g.same(embed + positions, r.into(s.layernorm_embedding), prefix + "embedding")
            g.norm(prefix + "embed_ln", s.layernorm_embedding, r)
        else:
            g.same(embed + positions, r.into(layers[0]), prefix + "embedding")
        for i, b in enumerate(layers):
            n, x = f"{prefix}blocks.{i}.", r.into(b)
            g[n + "hook_resid_pre"] = x

            def sub_layer(a, inside, written, norm_name, norm, behind, weights, mask):
                nonlocal x
                split = lambda m: r.out_of(m).view(-1, heads, c.d_model // heads)
                if pre_norm:
                    g.norm(n + norm_name, norm, r)
                if hasattr(a, "longformer_self_attn"):  # called with the text as the first axis
                    own, window = a.longformer_self_attn, c.attention_window[i]
                    q, k, v = (m(x).view(-1, heads, c.d_model // heads) for m in (own.query, own.key, own.value))
                    attend(g, (n + inside, n + written), q, k, v, r.into(a.output).view(-1, heads, c.d_model // heads),
                           unfolded(weights, sources), (c.d_model // heads) ** -0.5, a.output.weight.T, a.output.bias, r.out_of(a.output),
                           window=window // 2 + 1)
                    x = x + r.out_of(a.output)
                    g.same(x, r.into(norm), n + norm_name)
                    g.norm(n + norm_name, norm, r)
                    x = r.out_of(norm)
                    g[n + behind] = x
                    return
                attend(g, (n + inside, n + written), split(a.q_proj), split(a.k_proj), split(a.v_proj),
                       r.into(a.out_proj).view(-1, heads, c.d_model // heads), weights, (c.d_model // heads) ** -0.5,
                       a.out_proj.weight.T, a.out_proj.bias, r.out_of(a.out_proj), causal=mask)
                x = x + r.out_of(a.out_proj)
                if not pre_norm:
                    g.same(x, r.into(norm), n + norm_name)
                    g.norm(n + norm_name, norm, r)
                    x = r.out_of(norm)
                g[n + behind] = x

            sub_layer(b.self_attn, "attn.", "hook_attn_out", "ln1", b.self_attn_layer_norm, "hook_resid_mid", patterns[i][0], causal)
            if causal:
                sub_layer(b.encoder_attn, "cross_attn.", "hook_cross_attn_out", "ln_cross", b.encoder_attn_layer_norm,
                          "hook_resid_mid_cross", cross_patterns[i][0], False)
            if pre_norm:
                g.same(x, r.into(b.final_layer_norm), n + "what the MLP reads")
                g.norm(n + "ln2", b.final_layer_norm, r)
            g[n + "mlp.hook_pre"] = r.out_of(b.fc1)
            g[n + "mlp.hook_post"] = r.into(b.fc2)
            g[n + "hook_mlp_out"] = r.out_of(b.fc2)
            x = x + r.out_of(b.fc2)
            if not pre_norm:
                g.same(x, r.into(b.final_layer_norm), n + "ln2")
                g.norm(n + "ln2", b.final_layer_norm, r)
                x = r.out_of(b.final_layer_norm)
            g[n + "hook_resid_post"] = x
            g.same(x, r.out_of(b), n + "resid_post")
        if pre_norm:
            g.norm(prefix + "ln_final", s.layer_norm, r)

    m = model.led if c.model_type == "led" else model.model
    stack(m.encoder, m.encoder.layers, c.encoder_attention_heads, outputs.encoder_attentions, "encoder.")
    stack(m.decoder, m.decoder.layers, c.decoder_attention_heads, outputs.decoder_attentions, "decoder.", outputs.cross_attentions)
    g["logits"] = outputs.logits[0]
    return g


FAMILIES = {"t5": t5, "mt5": t5, "umt5": t5, "bart": bart, "mbart": bart, "marian": bart, "pegasus": bart, "m2m_100": bart, "led": bart}


@contextlib.contextmanager
def buckets_in_float32():
    """Which bucket a distance falls into is decided in float32 whatever the model's type: 16 of 128 lies on a border."""
    kept = []
    for kind in (modeling_t5.T5Attention, modeling_mt5.MT5Attention, modeling_umt5.UMT5Attention):
        own = kind._relative_position_bucket  # UMT5's is a method, the others' need no object

        def bucket(*args, own=own, **kwargs):
            now, torch.Tensor.float = torch.Tensor.float, _float
            try:
                return own(*args, **kwargs)
            finally:
                torch.Tensor.float = now
        kept.append((kind, own))
        kind._relative_position_bucket = bucket if kind is modeling_umt5.UMT5Attention else staticmethod(bucket)
    try:
        yield
    finally:
        for kind, own in kept:
            kind._relative_position_bucket = own if kind is modeling_umt5.UMT5Attention else staticmethod(own)


@torch.no_grad()
def record(folder, source, target, dtype):
    config = T.AutoConfig.from_pretrained(folder)
    kind = getattr(T, config.architectures[0])
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=dtype).eval()
    stored = safe_open(folder / "model.safetensors", "pt")
    head = "lm_head.weight" in stored.keys()
    assert (model.lm_head.weight is model.get_input_embeddings().weight) != head, "tied against the file"
    with lifted(model, dtype == F64), buckets_in_float32():
        if config.model_type == "m2m_100" and dtype == F64:  # whose tables of sines were made in float32
            torch.set_default_dtype(F64)
            for stack in (model.model.encoder, model.model.decoder):
                table = stack.embed_positions
                table.weights = table.get_embedding(*table.weights.shape, table.padding_idx)
            torch.set_default_dtype(torch.float32)
        r = make_golden.Recorder()
        for module in model.modules():
            r.watch(module)
        outputs = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]), output_attentions=True)
        golden = FAMILIES[config.model_type](model, r, outputs)
    return {name: t.to(dtype).contiguous().clone() for name, t in golden.items()}


def write(golden, source, target, texts, path):
    path.parent.mkdir(exist_ok=True)
    save_file(dict(golden, source_ids=torch.tensor(source), ids=torch.tensor(target)), path, {"text": texts[0], "pair": texts[1]})
    print(f"{path.name}: {len(golden)} hooks, {path.stat().st_size} bytes")


def unigram_tokenizer(pad, eos, unk):
    special = {pad: "<pad>", eos: "</s>", unk: "<unk>"}
    pieces = ["▁the", "▁cat", "▁hat", "at", "▁s", "▁", ":", ",", "."] + [chr(c) for c in range(ord("a"), ord("z") + 1)] + [
        "▁die", "▁Katze", "▁Hut", "K", "H", "D"]
    vocab, rest = [], iter(pieces)
    for i in range(len(pieces) + 3):
        piece = special.get(i) or next(rest)
        vocab.append((piece, 0.0 if i in special else -2.0 - 0.05 * i + 2 * (len(piece) > 2)))
    t = tokenizers.Tokenizer(models.Unigram(vocab, unk_id=unk))
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    t.decoder = token_decoders.Metaspace(replacement="▁", prepend_scheme="always")
    t.add_special_tokens(["<pad>", "</s>", "<unk>"])
    t.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", eos)])
    return t, len(vocab)


def byte_tokenizer():
    """BART's: <s> text </s>."""
    t, vocab = make_golden.byte_level_tokenizer(False)
    t.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 1), ("</s>", 2)])
    return t, vocab


T5_IDS = dict(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
BART = dict(d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2,
            encoder_ffn_dim=24, decoder_ffn_dim=20, max_position_embeddings=40)
# name: (class, config class, fields, tokenizer)
TINY = {
    # Version 1.0: ReLU, logits scaled, embedding tied. More decoder layers than encoder layers.
    "t5": (T.T5ForConditionalGeneration, T.T5Config,
           dict(d_model=16, d_kv=6, d_ff=24, num_layers=2, num_decoder_layers=3, num_heads=4, relative_attention_num_buckets=8,
                relative_attention_max_distance=12, **T5_IDS), lambda: unigram_tokenizer(0, 1, 2)),
    # Version 1.1 (and Flan): gated GELU, untied, not scaled. The default buckets; fewer decoder layers.
    "t5-v1_1": (T.T5ForConditionalGeneration, T.T5Config,
                dict(d_model=16, d_kv=8, d_ff=20, num_layers=3, num_decoder_layers=2, num_heads=2,
                     feed_forward_proj="gated-gelu", tie_word_embeddings=False, **T5_IDS), lambda: unigram_tokenizer(0, 1, 2)),
    "mt5": (T.MT5ForConditionalGeneration, T.MT5Config,
            dict(d_model=16, d_kv=4, d_ff=20, num_layers=2, num_decoder_layers=2, num_heads=4, relative_attention_num_buckets=6,
                 relative_attention_max_distance=10, feed_forward_proj="gated-gelu", tie_word_embeddings=False, **T5_IDS),
            lambda: unigram_tokenizer(0, 1, 2)),
    # A table of biases for each layer.
    "umt5": (T.UMT5ForConditionalGeneration, T.UMT5Config,
             dict(d_model=16, d_kv=6, d_ff=20, num_layers=2, num_decoder_layers=3, num_heads=4, relative_attention_num_buckets=8,
                  relative_attention_max_distance=12, tie_word_embeddings=False, **T5_IDS), lambda: unigram_tokenizer(0, 1, 2)),
    "bart": (T.BartForConditionalGeneration, T.BartConfig,
             dict(BART, bos_token_id=1, eos_token_id=2, pad_token_id=3, decoder_start_token_id=2, forced_bos_token_id=1,
                  forced_eos_token_id=2), byte_tokenizer),
    "mbart": (T.MBartForConditionalGeneration, T.MBartConfig,
              dict(BART, scale_embedding=True, activation_function="relu", bos_token_id=1, eos_token_id=2, pad_token_id=3,
                   decoder_start_token_id=2, forced_eos_token_id=2), byte_tokenizer),
    "marian": (T.MarianMTModel, T.MarianConfig,
               dict(BART, decoder_layers=3, scale_embedding=True, activation_function="swish", eos_token_id=0, unk_token_id=1,
                    pad_token_id=41, decoder_start_token_id=41, forced_eos_token_id=0), lambda: unigram_tokenizer(41, 0, 1)),
    "pegasus": (T.PegasusForConditionalGeneration, T.PegasusConfig,
                dict(BART, scale_embedding=True, activation_function="relu", eos_token_id=1, pad_token_id=0, decoder_start_token_id=0,
                     forced_eos_token_id=1), lambda: unigram_tokenizer(0, 1, 2)),
    "m2m_100": (T.M2M100ForConditionalGeneration, T.M2M100Config,
                dict(BART, bos_token_id=1, eos_token_id=2, pad_token_id=3, decoder_start_token_id=2), byte_tokenizer),
    # A source that is no multiple of the wider window, and positions of each stack.
    "led": (T.LEDForConditionalGeneration, T.LEDConfig,
            dict({k: v for k, v in BART.items() if k != "max_position_embeddings"}, attention_window=[8, 4], max_encoder_position_embeddings=40,
                 max_decoder_position_embeddings=24, bos_token_id=1, eos_token_id=2, pad_token_id=3, decoder_start_token_id=2), byte_tokenizer),
}
SOURCE, TARGET = "the cat, the hat: the cat", "die Katze, die"


def target_ids(tokenizer, config, text):
    """What the decoder reads: the token it begins with, then the text without what a template adds."""
    start = [config.decoder_start_token_id]
    forced = getattr(config, "forced_bos_token_id", None)
    if forced is not None and forced == config.bos_token_id:
        start.append(forced)
    return start + tokenizer.encode(text, add_special_tokens=False).ids


def make_tiny(name, seed):
    kind, config_kind, fields, make_tokenizer = TINY[name]
    tokenizer, vocab = make_tokenizer()
    torch.manual_seed(seed)
    model = kind(config_kind(vocab_size=vocab, **fields))
    untied = not fields.get("tie_word_embeddings", True)
    if untied:  # transformers' configuration forgets it; the files of the hub tell by a tensor of their own
        model.config.tie_word_embeddings = name == "umt5"  # as transformers 5.24 saves it: the scale has a flag of its own
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    make_golden.randomise(model, seed)
    if hasattr(model.config, "d_kv"):  # T5's queries learn the scale that its scores do without
        for parameter, p in model.named_parameters():
            if parameter.endswith(".q.weight"):
                p.data.mul_(model.config.d_kv ** -0.5)
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.copy_(0.4 * torch.randn(model.final_logits_bias.shape, generator=torch.Generator().manual_seed(seed)))
    if name in ("marian", "pegasus"):  # randomise() has filled the tables of sines, which no checkpoint holds
        for stack in (model.model.encoder, model.model.decoder):
            stack.embed_positions.weight.data.copy_(stack.embed_positions.create_weight())
    if not untied:
        model.tie_weights()
    folder = MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    for file in folder.iterdir():
        file.chmod(0o644)
    tokenizer.save(str(folder / "tokenizer.json"))
    source = tokenizer.encode(SOURCE).ids
    target = target_ids(tokenizer, T.AutoConfig.from_pretrained(folder), TARGET)
    for suffix, precision in (("f32", torch.float32), ("f64", F64)):
        write(record(folder, source, target, precision), source, target, (SOURCE, TARGET), GOLDEN / f"{name}.{suffix}.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--text")
    parser.add_argument("--target", default="")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--float64", action="store_true")
    a = parser.parse_args()
    if a.folder:
        tokenizer = tokenizers.Tokenizer.from_file(str(a.folder / "tokenizer.json"))
        source = tokenizer.encode(a.text).ids
        target = target_ids(tokenizer, T.AutoConfig.from_pretrained(a.folder), a.target)
        golden = record(a.folder, source, target, F64 if a.float64 else torch.float32)
        return write(golden, source, target, (a.text, a.target), a.out)
    for seed, name in enumerate(TINY):
        if a.only in (None, name):
            make_tiny(name, seed + 101)


if __name__ == "__main__":
    main()
