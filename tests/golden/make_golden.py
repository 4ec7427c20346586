#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the tiny models of tests/fixtures/models and what Hugging Face transformers computes at every hook.

    python tests/golden/make_golden.py            everything below tests/
    python tests/golden/make_golden.py --only NAME
    python tests/golden/make_golden.py --folder DIR --text "..." --out FILE [--pair "..."]   every hook of a model folder
    python tests/golden/make_golden.py --folder DIR --text "..." [--pair "..."]
        DIR/reference.safetensors: logits and patterns of any model that transformers knows, which Headlight compares with
        its own when it opens the folder

Needs the packages of requirements.txt (Pillow for pictures alone). The tests themselves need none of it.
Models run in eager attention, once in float32 and once in float64. In float64 the places where transformers computes in
float32 whatever the model's type (softmax, RMSNorm, rotary angles, ALiBi slopes) are lifted to float64, so that the
second golden tells a wrong formula from rounding. Weights: std 0.3 and more, biases and gains never trivial, or softmax
is flat and tests pass for nothing.
"""
import argparse
import json
import math
import pathlib
import shutil
import sys

import tokenizers
import torch
import transformers
import decoders
import experts
import later_decoders
import latent
import llama4
import more_encoders
import more_models
import variants
from safetensors.torch import save_file
from tokenizers import decoders as token_decoders, models, normalizers, pre_tokenizers, processors
from transformers.models.bloom import modeling_bloom
from transformers.models.llama import modeling_llama

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = ROOT / "fixtures" / "models"
GOLDEN = ROOT / "golden"
F64 = torch.float64


# ---------------------------------------------------------------- float64 all the way

_softmax = torch.nn.functional.softmax
_rms_norm = modeling_llama.LlamaRMSNorm.forward
_rotary = modeling_llama.LlamaRotaryEmbedding.forward
_slopes = modeling_bloom._get_alibi_slopes


def softmax64(x, dim=None, _stacklevel=3, dtype=None):
    return _softmax(x, dim=dim, dtype=None if x.dtype == F64 else dtype)


def rms_norm64(self, x):
    if x.dtype != F64:
        return _rms_norm(self, x)
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def inverse_frequencies64(config):
    rope = config.rope_parameters
    dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    freq = 1.0 / (rope["rope_theta"] ** (torch.arange(0, dim, 2, dtype=F64) / dim))
    if rope["rope_type"] == "linear":
        return freq / rope["factor"]
    if rope["rope_type"] == "llama3":
        low, high, old = rope["low_freq_factor"], rope["high_freq_factor"], rope["original_max_position_embeddings"]
        out = []
        for f in freq.tolist():
            wavelength = 2 * math.pi / f
            if wavelength < old / high:
                out.append(f)
            elif wavelength > old / low:
                out.append(f / rope["factor"])
            else:
                smooth = (old / wavelength - low) / (high - low)
                out.append((1 - smooth) * f / rope["factor"] + smooth * f)
        return torch.tensor(out, dtype=F64)
    assert rope["rope_type"] == "default", rope
    return freq


def rotary64(self, x, position_ids):
    if x.dtype != F64:
        return _rotary(self, x, position_ids)
    angle = position_ids[..., None].to(F64) * inverse_frequencies64(self.config)
    angle = torch.cat((angle, angle), dim=-1)
    return angle.cos(), angle.sin()


def slopes64(num_heads, device=None):
    power = 2 ** math.floor(math.log2(num_heads))
    base = 2.0 ** (-(2.0 ** -(math.log2(power) - 3)))
    slopes = [base ** (i + 1) for i in range(power)]
    base = 2.0 ** (-(2.0 ** -(math.log2(2 * power) - 3)))
    slopes += [base ** (2 * i + 1) for i in range(num_heads - power)]
    return torch.tensor(slopes, dtype=F64)


def set_precision(double):
    torch.nn.functional.softmax = softmax64 if double else _softmax
    modeling_llama.LlamaRMSNorm.forward = rms_norm64 if double else _rms_norm
    modeling_llama.LlamaRotaryEmbedding.forward = rotary64 if double else _rotary
    modeling_bloom._get_alibi_slopes = slopes64 if double else _slopes


# ---------------------------------------------------------------- hooks

class Recorder:
    """First input and output of the modules it watches."""

    def __init__(self):
        self.inputs, self.outputs, self.handles, self.calls = {}, {}, [], {}

    def watch(self, module):
        def look(m, args, kwargs, output):
            first = args[0] if args else kwargs.get("hidden_states")
            # OPT's MLP works without the batch's dimension.
            self.inputs[m] = (first[0] if first.dim() > 2 else first).clone() if torch.is_tensor(first) else None
            out = output[0] if isinstance(output, tuple) else output
            self.outputs[m] = out[0].clone() if torch.is_tensor(out) and out.dim() > 2 else out
            self.calls.setdefault(m, []).append((self.inputs[m], self.outputs[m]))
        self.handles.append(module.register_forward_hook(look, with_kwargs=True))

    def at_call(self, i):
        """The same for the i-th call of modules that are called for every layer (ALBERT)."""
        one = Recorder()
        for m, calls in self.calls.items():
            one.inputs[m], one.outputs[m] = calls[min(i, len(calls) - 1)]
        return one

    def into(self, module):
        return self.inputs[module]

    def out_of(self, module):
        return self.outputs[module]


class Golden(dict):
    """Hook name -> tensor, with the recomputed ones checked against what the reference went on with."""

    def norm(self, name, module, r, rms=False):
        x = r.into(module)
        centred = x if rms else x - x.mean(-1, keepdim=True)
        eps = module.variance_epsilon if rms else module.eps
        scale = (centred.pow(2).mean(-1, keepdim=True) + eps).sqrt()
        normalized = centred / scale
        self[name + ".hook_scale"] = scale
        self[name + ".hook_normalized"] = normalized
        whole = normalized * module.weight + (0 if rms else module.bias)
        self.same(whole, r.out_of(module), name)

    def attention(self, block, q, k, v, z, pattern, scale, w_o, b_o, attn_out, slopes=None, causal=True,
                  window=0, softcap=None, sinks=None, terms=None, chunk=0):
        """q, z [pos, head, d]; k, v [pos, kv_head, d]; q and k as they are multiplied. Keys at distance `window` or
        farther are illegal (0: no limit), and with `chunk` those of other chunks. sinks [head]: one more score in every row's softmax. `terms` [head, query, key]
        is added to the scaled scores."""
        heads, group = q.shape[1], q.shape[1] // k.shape[1]
        rep = lambda t: t.repeat_interleave(group, dim=1)
        scores = torch.einsum("ihd,jhd->hij", q, rep(k)) * scale
        n = q.shape[0]
        i, j = torch.arange(n)[:, None], torch.arange(n)[None, :]
        if slopes is not None:
            scores = scores - slopes.to(q.dtype)[:, None, None] * (i - j).to(q.dtype)
        if terms is not None:
            scores = scores + terms
        if softcap is not None:
            scores = torch.tanh(scores / softcap) * softcap
        if causal:
            scores = scores.masked_fill(j > i, -math.inf)
        if window:
            scores = scores.masked_fill((i - j).abs() >= window, -math.inf)
        if chunk:
            scores = scores.masked_fill(i // chunk != j // chunk, -math.inf)
        softmax = _softmax(scores, dim=-1)
        if sinks is not None:
            softmax = _softmax(torch.cat((scores, sinks[:, None, None].expand(heads, n, 1)), dim=-1), dim=-1)
            softmax, self[block + "attn.hook_sink"] = softmax[..., :-1], softmax[..., -1]
        self.same(softmax, pattern, block + " pattern")
        self.same(torch.einsum("hij,jhd->ihd", pattern, rep(v)), z, block + " z")
        per_head = w_o.reshape(heads, -1, w_o.shape[1])  # [head, d_head, d_model]
        result = torch.einsum("ihd,hdm->ihm", z, per_head)
        self.same(result.sum(1) + (0 if b_o is None else b_o), attn_out, block + " attn_out")
        self[block + "attn.hook_attn_scores"] = scores
        self[block + "attn.hook_pattern"] = pattern
        self[block + "attn.hook_z"] = z
        self[block + "attn.hook_result"] = result
        self[block + "hook_attn_out"] = attn_out

    @staticmethod
    def same(ours, theirs, what):
        tolerance = 1e-10 if ours.dtype == F64 else 3e-5
        largest = theirs.abs().max().item()
        assert (ours - theirs).abs().max().item() <= tolerance * max(1.0, largest), what


def bloom(model, r, outputs, tokens):
    g, c, t = Golden(), model.config, model.transformer
    heads, d = c.n_head, c.hidden_size // c.n_head
    g["hook_embed"] = r.out_of(t.word_embeddings)
    g.norm("embed_ln", t.word_embeddings_layernorm, r)
    for i, b in enumerate(t.h):
        n, a = f"blocks.{i}.", b.self_attention
        g[n + "hook_resid_pre"] = r.into(b)
        g.norm(n + "ln1", b.input_layernorm, r)
        q, k, v = r.out_of(a.query_key_value).view(tokens, heads, 3, d).unbind(2)
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        g.attention(n, q, k, v, r.into(a.dense).view(tokens, heads, d), outputs.attentions[i][0], 1 / math.sqrt(d),
                    a.dense.weight.T, a.dense.bias, r.out_of(a.dense), modeling_bloom._get_alibi_slopes(heads, q.device))
        g[n + "hook_resid_mid"] = r.into(b.post_attention_layernorm)
        g.norm(n + "ln2", b.post_attention_layernorm, r)
        g[n + "mlp.hook_pre"] = r.out_of(b.mlp.dense_h_to_4h)
        g[n + "mlp.hook_post"] = r.into(b.mlp.dense_4h_to_h)
        g[n + "hook_mlp_out"] = r.out_of(b.mlp.dense_4h_to_h)
        g[n + "hook_resid_post"] = r.out_of(b)
    g.norm("ln_final", t.ln_f, r)
    g["logits"] = outputs.logits[0]
    return g


def gpt2(model, r, outputs, tokens):
    g, c, t = Golden(), model.config, model.transformer
    heads, d = c.n_head, c.n_embd // c.n_head
    g["hook_embed"] = r.out_of(t.wte)
    g["hook_pos_embed"] = t.wpe.weight[:tokens].clone()
    for i, b in enumerate(t.h):
        n, a = f"blocks.{i}.", b.attn
        g[n + "hook_resid_pre"] = r.into(b)
        g.norm(n + "ln1", b.ln_1, r)
        q, k, v = (x.view(tokens, heads, d) for x in r.out_of(a.c_attn).split(c.n_embd, dim=-1))
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        scale = 1 / math.sqrt(d) if c.scale_attn_weights else 1.0
        if c.scale_attn_by_inverse_layer_idx:
            scale /= i + 1
        g.attention(n, q, k, v, r.into(a.c_proj).view(tokens, heads, d), outputs.attentions[i][0], scale,
                    a.c_proj.weight, a.c_proj.bias, r.out_of(a.c_proj))
        g[n + "hook_resid_mid"] = r.into(b.ln_2)
        g.norm(n + "ln2", b.ln_2, r)
        g[n + "mlp.hook_pre"] = r.out_of(b.mlp.c_fc)
        g[n + "mlp.hook_post"] = r.into(b.mlp.c_proj)
        g[n + "hook_mlp_out"] = r.out_of(b.mlp.c_proj)
        g[n + "hook_resid_post"] = r.out_of(b)
    g.norm("ln_final", t.ln_f, r)
    g["logits"] = outputs.logits[0]
    return g


def bert(model, r, outputs, tokens):
    g, c = Golden(), model.config
    t = model.bert if hasattr(model, "bert") else model
    e, heads, d = t.embeddings, c.num_attention_heads, c.hidden_size // c.num_attention_heads
    g["hook_embed"] = r.out_of(e.word_embeddings)
    relative = getattr(c, "position_embedding_type", "absolute")
    if relative == "absolute":
        g["hook_pos_embed"] = e.position_embeddings.weight[:tokens].clone()
    g["hook_token_type_embed"] = r.out_of(e.token_type_embeddings)
    g.norm("embed_ln", e.LayerNorm, r)
    for i, b in enumerate(t.encoder.layer):
        n, a = f"blocks.{i}.", b.attention
        g[n + "hook_resid_pre"] = r.into(b)
        q, k, v = (r.out_of(m).view(tokens, heads, d) for m in (a.self.query, a.self.key, a.self.value))
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        terms = None
        if relative != "absolute":
            place = torch.arange(tokens)[:, None] - torch.arange(tokens)[None, :] + c.max_position_embeddings - 1
            vectors = a.self.distance_embedding.weight[place]  # [query, key, d]
            terms = g[n + "attn.hook_c2p"] = torch.einsum("ihd,ijd->hij", q, vectors) / math.sqrt(d)
            if relative == "relative_key_query":
                g[n + "attn.hook_p2c"] = torch.einsum("jhd,ijd->hij", k, vectors) / math.sqrt(d)
                terms = terms + g[n + "attn.hook_p2c"]
        o = a.output.dense
        g.attention(n, q, k, v, r.into(o).view(tokens, heads, d), outputs.attentions[i][0], 1 / math.sqrt(d),
                    o.weight.T, o.bias, r.out_of(o), causal=False, terms=terms)
        g.norm(n + "ln1", a.output.LayerNorm, r)
        g[n + "hook_resid_mid"] = r.out_of(a.output.LayerNorm)
        g[n + "mlp.hook_pre"] = r.out_of(b.intermediate.dense)
        g[n + "mlp.hook_post"] = r.into(b.output.dense)
        g[n + "hook_mlp_out"] = r.out_of(b.output.dense)
        g.norm(n + "ln2", b.output.LayerNorm, r)
        g[n + "hook_resid_post"] = r.out_of(b)
    if hasattr(model, "cls"):
        head = model.cls.predictions.transform
        g["mlm_head.hook_pre"] = r.out_of(head.dense)
        g["mlm_head.hook_post"] = r.into(head.LayerNorm)
        g.norm("mlm_head.ln", head.LayerNorm, r)
        g["logits"] = outputs.logits[0]
    return g


def llama(model, r, outputs, tokens):
    g, c, t = Golden(), model.config, model.model
    heads, kv, d = c.num_attention_heads, c.num_key_value_heads, c.head_dim
    g["hook_embed"] = r.out_of(t.embed_tokens)
    positions = torch.arange(tokens)[None]
    cos, sin = t.rotary_emb(g["hook_embed"][None], positions)
    for i, b in enumerate(t.layers):
        n, a = f"blocks.{i}.", b.self_attn
        g[n + "hook_resid_pre"] = r.into(b)
        g.norm(n + "ln1", b.input_layernorm, r, rms=True)
        q, k, v = (r.out_of(m).view(tokens, h, d) for m, h in ((a.q_proj, heads), (a.k_proj, kv), (a.v_proj, kv)))
        g[n + "attn.hook_q"], g[n + "attn.hook_k"], g[n + "attn.hook_v"] = q, k, v
        rq, rk = modeling_llama.apply_rotary_pos_emb(q[None].transpose(1, 2), k[None].transpose(1, 2), cos, sin)
        rq, rk = rq[0].transpose(0, 1), rk[0].transpose(0, 1)
        g[n + "attn.hook_rot_q"], g[n + "attn.hook_rot_k"] = rq, rk
        o = a.o_proj
        g.attention(n, rq, rk, v, r.into(o).view(tokens, heads, d), outputs.attentions[i][0], 1 / math.sqrt(d),
                    o.weight.T, o.bias, r.out_of(o))
        g[n + "hook_resid_mid"] = r.into(b.post_attention_layernorm)
        g.norm(n + "ln2", b.post_attention_layernorm, r, rms=True)
        g[n + "mlp.hook_pre"] = r.out_of(b.mlp.gate_proj)
        g[n + "mlp.hook_pre_linear"] = r.out_of(b.mlp.up_proj)
        g[n + "mlp.hook_post"] = r.into(b.mlp.down_proj)
        g[n + "hook_mlp_out"] = r.out_of(b.mlp.down_proj)
        g[n + "hook_resid_post"] = r.out_of(b)
    g.norm("ln_final", t.norm, r, rms=True)
    g["logits"] = outputs.logits[0]
    return g


FAMILIES = {"bloom": bloom, "gpt2": gpt2, "bert": bert, "llama": llama}
LIFTED = {kind: decoders.decoder for kind in decoders.KINDS} | more_models.KINDS | more_encoders.KINDS | latent.KINDS | later_decoders.KINDS | llama4.KINDS  # see decoders.py
FAMILIES.update(LIFTED)


@torch.no_grad()
def record(folder, ids, type_ids, dtype):
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    eager = {"experts_implementation": "eager"} if config.model_type in experts.EAGER else {}
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=dtype, **eager).eval()
    scaling = (getattr(config, "rope_parameters", None) or {}).get("rope_type")
    if config.model_type in LIFTED or scaling in ("yarn", "dynamic") or getattr(config, "reorder_and_upcast_attn", False):
        with decoders.lifted(model, dtype == F64):
            return run_recorded(model, ids, type_ids, dtype)
    set_precision(dtype == F64)
    golden = run_recorded(model, ids, type_ids, dtype)
    set_precision(False)
    return golden


def run_recorded(model, ids, type_ids, dtype):
    config, r = model.config, Recorder()
    for module in model.modules():
        r.watch(module)
    inputs = {"input_ids": torch.tensor([ids])}
    r.into_ids = torch.tensor(ids)
    if config.model_type in ("bert", "electra", "albert", "deberta", "deberta-v2", "nomic_bert"):
        inputs["token_type_ids"] = torch.tensor([type_ids])
    outputs = model(**inputs, output_attentions=True)
    golden = FAMILIES[config.model_type](model, r, outputs, len(ids))
    return {name: t.to(dtype).contiguous().clone() for name, t in golden.items()}


def write(golden, ids, type_ids, text, pair, path):
    tensors = dict(golden, ids=torch.tensor(ids), type_ids=torch.tensor(type_ids))
    save_file(tensors, path, {"text": text, "pair": pair})
    print(f"{path.name}: {len(golden)} hooks, {path.stat().st_size} bytes")


# ---------------------------------------------------------------- tiny models

def byte_level_tokenizer(bos):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("t", "h"), ("th", "e"), ("a", "t"), ("Ġ", "the"), ("c", "at"), ("Ġ", "cat"), ("i", "n"), ("in", "g"),
              ("o", "n"), ("Ġ", "a"), ("e", "r"), ("Ġ", "h")]
    words = ["<unk>", "<s>", "</s>", "<pad>"] + alphabet + [a + b for a, b in merges]
    vocab = {w: i for i, w in enumerate(words)}
    t = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=merges))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = token_decoders.ByteLevel()
    t.add_special_tokens(words[:4])
    if bos:
        t.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", 1)])
    else:
        t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t, len(words)


def wordpiece_tokenizer():
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + ["##" + c for c in letters]
    words += [".", ",", "'", "the", "cat", "##s", "##at"][:64 - len(words)]
    words = list(dict.fromkeys(words))
    vocab = {w: i for i, w in enumerate(words)}
    t = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = token_decoders.WordPiece()
    t.add_special_tokens(words[:5])
    t.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1",
                                                     [("[CLS]", 2), ("[SEP]", 3)])
    return t, len(words)


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=generator)
            is_gain = p.dim() == 1 and name.endswith("weight")
            p.copy_(1.0 + 0.3 * noise if is_gain else 0.35 * noise)
        for name, b in model.named_buffers():
            if name.endswith("e_score_correction_bias"):  # large enough to change which experts are chosen
                b.copy_(0.3 * torch.randn(b.shape, generator=generator))


T = transformers
ENCODER = dict(bos_token_id=2, eos_token_id=3, pad_token_id=0)
BPE = dict(bos_token_id=1, eos_token_id=2, pad_token_id=3)
# name: (class, config class, fields, dtype on disk, largest shard, text, pair)
TINY = {
    "bloom": (T.BloomForCausalLM, T.BloomConfig, dict(hidden_size=16, n_layer=2, n_head=4), "float32", None),
    # Six heads are no power of two: the slopes' second series.
    "bloom-h6": (T.BloomForCausalLM, T.BloomConfig,
                 dict(hidden_size=24, n_layer=2, n_head=6, apply_residual_connection_post_layernorm=True), "float16", None),
    "gpt2": (T.GPT2LMHeadModel, T.GPT2Config, dict(n_embd=16, n_layer=2, n_head=2, n_positions=40), "float32", None),
    "gpt2-untied": (T.GPT2LMHeadModel, T.GPT2Config,
                    dict(n_embd=16, n_layer=2, n_head=4, n_positions=40, n_inner=24, scale_attn_weights=False,
                         activation_function="gelu", tie_word_embeddings=False), "float32", None),
    "bert": (T.BertModel, T.BertConfig,
             dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24,
                  max_position_embeddings=40), "float32", None),
    "bert-mlm": (T.BertForMaskedLM, T.BertConfig,
                 dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                      max_position_embeddings=40, hidden_act="gelu_new"), "float32", "12KB"),
    "llama-kv1": (T.LlamaForCausalLM, T.LlamaConfig,
                  dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=1,
                       intermediate_size=24, max_position_embeddings=512, tie_word_embeddings=True,
                       rope_parameters=dict(rope_type="llama3", rope_theta=50.0, factor=4.0, low_freq_factor=1.0,
                                            high_freq_factor=4.0, original_max_position_embeddings=32)), "bfloat16", None),
    "llama-kv2": (T.LlamaForCausalLM, T.LlamaConfig,
                  dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
                       intermediate_size=24, attention_bias=True, mlp_bias=True), "float32", None),
    "llama-mha": (T.LlamaForCausalLM, T.LlamaConfig,
                  dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
                       intermediate_size=24, rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=2.0)),
                  "float32", None),
}
NEWER = decoders.tiny(T) | more_models.tiny(T) | more_encoders.tiny(T) | experts.tiny(T) | latent.tiny(T)
NEWER |= more_encoders.convolved(T)  # with the shorter text
NEWER |= variants.tiny(T) | later_decoders.tiny(T) | more_encoders.later(T) | more_encoders.first_deberta(T)
NEWER |= more_encoders.windows(T) | later_decoders.grouped_experts(T) | llama4.tiny(T)
TINY.update(NEWER)
SHORT = "the cat, the hat: the cat"
TEXT, PAIR = "the cat, the hat: the cat on the hat", "a cat on the"


def make_tiny(name, seed):
    kind, config_kind, fields, dtype, shard = TINY[name]
    # Encoders that mark two sentences; the other encoders have special tokens at both ends only.
    is_bert = config_kind in (T.BertConfig, T.ElectraConfig, T.AlbertConfig)
    encoder = kind.__name__.endswith("MaskedLM") or is_bert
    tokenizer, vocab = wordpiece_tokenizer() if encoder else byte_level_tokenizer(config_kind is not T.GPT2Config)
    special = {} if is_bert else ENCODER if encoder else BPE
    config = config_kind(vocab_size=vocab, **special, **fields)
    torch.manual_seed(seed)
    model = kind(config)
    randomise(model, seed)
    model.tie_weights()
    folder = MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model.to(getattr(torch, dtype)).save_pretrained(folder, **({"max_shard_size": shard} if shard else {}))
    (folder / "generation_config.json").unlink(missing_ok=True)
    for file in folder.iterdir():
        file.chmod(0o644)
    tokenizer.save(str(folder / "tokenizer.json"))
    pair = PAIR if is_bert and name not in NEWER else ""
    text = SHORT if name in NEWER else TEXT
    encoding = tokenizer.encode(text, pair) if pair else tokenizer.encode(text)
    for suffix, precision in (("f32", torch.float32), ("f64", F64)):
        golden = record(folder, encoding.ids, encoding.type_ids, precision)
        write(golden, encoding.ids, encoding.type_ids, text, pair, GOLDEN / f"{name}.{suffix}.safetensors")


def make_folder(folder, text, pair, out, dtype=torch.float32, keep=lambda name: True):
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    encoding = tokenizer.encode(text, pair) if pair else tokenizer.encode(text)
    golden = record(folder, encoding.ids, encoding.type_ids, dtype)
    write({n: t for n, t in golden.items() if keep(n)}, encoding.ids, encoding.type_ids, text, pair or "", out)


@torch.no_grad()
def make_reference(folder, text, pair):
    """Nothing but what every model gives: no hooks, so that no family needs a recorder of its own."""
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    encoding = tokenizer(text, pair or None, return_tensors="pt")
    outputs = model(**{k: v for k, v in encoding.items() if k in ("input_ids", "token_type_ids")}, output_attentions=True)
    golden = {f"blocks.{i}.attn.hook_pattern": a[0].contiguous() for i, a in enumerate(outputs.attentions)}
    if getattr(outputs, "logits", None) is not None:
        golden["logits"] = outputs.logits[0].contiguous()
    ids = encoding["input_ids"][0].tolist()
    type_ids = encoding.get("token_type_ids", torch.zeros(1, len(ids), dtype=torch.long))[0].tolist()
    write(golden, ids, type_ids, text, pair or "", folder / "reference.safetensors")


def make_novella():
    """Real text on the built-in model. hook_result is left out for its size; it is in every tiny golden."""
    folder = ROOT.parent / "models" / "novella-7m"
    text = "“Holmes,” said I, “it is late.”"
    make_folder(folder, text, "", GOLDEN / "novella-7m.f32.safetensors", keep=lambda n: not n.endswith("hook_result"))
    few = ("resid_post", "pattern", "embed_ln.hook_normalized", "blocks.5.attn.hook_q", "blocks.5.mlp.hook_post")
    make_folder(folder, text, "", GOLDEN / "novella-7m.f64.safetensors", F64, keep=lambda n: n.endswith(few))


def make_vision(only):
    import vision  # here, because only these need Pillow
    if only in (None, "pictures"):
        vision.make_pictures(ROOT / "fixtures" / "pictures")
        vision.make_resampled(ROOT / "fixtures" / "pictures", GOLDEN / "resampled.safetensors")
        vision.make_processed(GOLDEN / "processed.safetensors")
        vision.make_jpeg(ROOT / "fixtures" / "pictures", GOLDEN / "turned.safetensors")
    for seed, name in enumerate(vision.TINY):
        if only in (None, name):
            vision.make_tiny(name, 100 + seed, MODELS, GOLDEN, sys.modules[__name__])
    if only in (None, "clip"):
        vision.make_clip("clip", 200, MODELS, GOLDEN, sys.modules[__name__])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--text")
    parser.add_argument("--pair", default="")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--float64", action="store_true")
    a = parser.parse_args()
    if a.folder and not a.out:
        return make_reference(a.folder, a.text, a.pair)
    if a.folder:
        return make_folder(a.folder, a.text, a.pair, a.out, F64 if a.float64 else torch.float32)
    for seed, name in enumerate(TINY):
        if a.only in (None, name) or a.only and a.only.endswith("*") and name.startswith(a.only[:-1]):
            make_tiny(name, seed + 1)
    if a.only not in TINY and a.only != "novella-7m":
        make_vision(a.only)
    if a.only in (None, "novella-7m"):
        make_novella()


if __name__ == "__main__":
    main()
