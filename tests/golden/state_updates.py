#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny models whose layers update a state, in tests/fixtures/state_updates, and what transformers computes at every hook.

    python tests/golden/state_updates.py [--only NAME]
    python tests/golden/state_updates.py --folder DIR --text TEXT --out FILE   any such model folder

What the reference does not keep is computed here from what it does, the output of the update step by step, and checked
against what it went on with. Weights and precisions: see make_golden.py.
"""
import argparse
import pathlib
import shutil

import tokenizers
import torch
import transformers as T
from torch.nn import functional as F

import make_golden
from decoders import lifted, norm

MODELS = make_golden.ROOT / "fixtures" / "state_updates"
GOLDEN = make_golden.GOLDEN / "state_updates"
F64 = torch.float64


def state_space(g, n, m, r):
    """Mamba-2's mixer `m`, whose hooks begin with `n`."""
    heads, values, states, groups, inner = m.num_heads, m.head_dim, m.ssm_state_size, m.n_groups, m.intermediate_size
    projected = r.out_of(m.in_proj)
    tokens = projected.shape[0]
    gate, conv, dt = projected.split((inner, m.conv_dim, heads), dim=-1)
    g[n + "hook_gate"], g[n + "hook_conv_in"] = gate.view(tokens, heads, values), conv
    weight = m.conv1d.weight
    conv = m.act(F.conv1d(conv.T[None], weight, m.conv1d.bias, padding=weight.shape[-1] - 1, groups=m.conv_dim)[0, :, :tokens].T)
    x, b, c = conv.split((inner, groups * states, groups * states), dim=-1)
    by_head = lambda y: y.view(tokens, groups, states).repeat_interleave(heads // groups, dim=1)
    q, k, v = by_head(c), by_head(b), x.reshape(tokens, heads, values)
    step = F.softplus(dt + m.dt_bias).clamp(*m.time_step_limit)
    decay = -torch.exp(m.A_log) * step
    state, z = torch.zeros(heads, values, states, dtype=x.dtype), []
    implied = torch.zeros(heads, tokens, tokens, dtype=x.dtype)
    for t in range(tokens):
        state = state * decay[t].exp()[:, None, None] + step[t][:, None, None] * v[t][:, :, None] * k[t][:, None, :]
        z.append(torch.einsum("hpn,hn->hp", state, q[t]))
        for j in range(t + 1):
            implied[:, t, j] = (q[t] * k[j]).sum(-1) * step[j] * decay[j + 1:t + 1].sum(0).exp()
    z = torch.stack(z)
    g.same(torch.einsum("hij,jhd->ihd", implied, v), z, n + "implied map times values")
    skipped = z + m.D[:, None] * v
    g.same(skipped.reshape(tokens, inner), r.into(m.norm), n + "output of the update")
    gated = skipped * F.silu(g[n + "hook_gate"])
    parts = gated.reshape(tokens, groups, inner // groups)
    scale = (parts.pow(2).mean(-1) + m.norm.variance_epsilon).sqrt()
    normalized = (parts / scale[:, :, None]).reshape(tokens, heads, values)
    behind = normalized.reshape(tokens, inner) * m.norm.weight
    g.same(behind, r.out_of(m.norm), n + "gated norm")
    o = m.out_proj
    result = torch.einsum("ihd,hdm->ihm", behind.view(tokens, heads, values), o.weight.T.reshape(heads, values, -1))
    g.same(result.sum(1) + (0 if o.bias is None else o.bias), r.out_of(o), n + "result")
    for name, y in dict(q=q, k=k, v=v, step=step, decay=decay, implied=implied, z=z, skipped=skipped, gated=gated, result=result).items():
        g[n + "hook_" + name] = y
    g[n + "gate_norm.hook_scale"], g[n + "gate_norm.hook_normalized"] = scale, normalized
    return r.out_of(o)


def mamba2(model, r, outputs):
    g, t = make_golden.Golden(), model.backbone
    g["hook_embed"] = r.into(t.layers[0])
    for i, b in enumerate(t.layers):
        n = f"blocks.{i}."
        g[n + "hook_resid_pre"] = r.into(b)
        norm(g, n + "ln1", b.norm, r)
        g[n + "hook_attn_out"] = state_space(g, n + "attn.", b.mixer, r)
        g[n + "hook_resid_mid"] = g[n + "hook_resid_post"] = r.out_of(b)
        g.same(g[n + "hook_resid_pre"] + g[n + "hook_attn_out"], r.out_of(b), n + "resid_mid")
    norm(g, "ln_final", t.norm_f, r)
    g["logits"] = outputs.logits[0]
    return g


KINDS = {"mamba2": mamba2}


@torch.no_grad()
def record(folder, ids, dtype):
    config = T.AutoConfig.from_pretrained(folder)
    model = getattr(T, config.architectures[0]).from_pretrained(folder, dtype=dtype).eval()
    with lifted(model, dtype == F64):
        r = make_golden.Recorder()
        for module in model.modules():
            r.watch(module)
        outputs = model(input_ids=torch.tensor([ids]), use_cache=False)
        golden = KINDS[config.model_type](model, r, outputs)
    return {name: t.to(dtype).contiguous().clone() for name, t in golden.items()}


BASE = dict(hidden_size=16, num_hidden_layers=2, num_heads=4, head_dim=8, state_size=6, chunk_size=4)
# name: (class, config class, fields)
TINY = {
    # Limits that cut steps on both sides; a text of several chunks.
    "mamba2": (T.Mamba2ForCausalLM, T.Mamba2Config, dict(BASE, n_groups=2, use_bias=True, time_step_limit=(0.4, 1.2))),
    "mamba2-plain": (T.Mamba2ForCausalLM, T.Mamba2Config, dict(
        BASE, n_groups=1, conv_kernel=3, use_conv_bias=False, tie_word_embeddings=True, hidden_act="gelu")),
}


def make_tiny(name, seed):
    kind, config_kind, fields = TINY[name]
    tokenizer, vocab = make_golden.byte_level_tokenizer(True)
    torch.manual_seed(seed)
    model = kind(config_kind(vocab_size=vocab, **make_golden.BPE, **fields))
    make_golden.randomise(model, seed)
    model.tie_weights()
    folder = MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    for file in folder.iterdir():
        file.chmod(0o644)
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = tokenizer.encode(make_golden.TEXT).ids
    GOLDEN.mkdir(exist_ok=True)
    for suffix, precision in (("f32", torch.float32), ("f64", F64)):
        make_golden.write(record(folder, ids, precision), ids, [0] * len(ids), make_golden.TEXT, "",
                          GOLDEN / f"{name}.{suffix}.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--text")
    parser.add_argument("--out", type=pathlib.Path)
    a = parser.parse_args()
    if a.folder:
        ids = tokenizers.Tokenizer.from_file(str(a.folder / "tokenizer.json")).encode(a.text).ids
        return make_golden.write(record(a.folder, ids, torch.float32), ids, [0] * len(ids), a.text, "", a.out)
    for seed, name in enumerate(TINY):
        if a.only in (None, name):
            make_tiny(name, seed + 1)


if __name__ == "__main__":
    main()
