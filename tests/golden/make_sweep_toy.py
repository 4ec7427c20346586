# SPDX-License-Identifier: GPL-3.0-or-later
"""A three-layer GPT-2 in plain Python, as a folder, and every cell of every sweep of it in both directions.

Writes tests/golden/sweep/toy/: config.json, model.safetensors (float32) and cells.json: for each direction and grid the metric after
each patch, flat, in the order layer, position, head (patterns: head, query, key; edges: keys up to the query).

    python tests/golden/make_sweep_toy.py
"""

import json
import math
import pathlib
import random
import struct

import numpy as np
from safetensors.numpy import save_file

random.seed(11)
T, d, H, dh, m, L, V = 4, 6, 2, 3, 8, 3, 7
OUT = pathlib.Path(__file__).resolve().parent / "sweep" / "toy"


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def g(*s):
    return [f32(random.gauss(0, .7)) for _ in range(s[0])] if len(s) == 1 else [g(*s[1:]) for _ in range(s[0])]


WE, WP, U = g(V, d), g(T, d), g(d, V)
layers = [dict(q=g(H, d, dh), k=g(H, d, dh), v=g(H, d, dh), o=g(H, dh, d), bo=g(d), bv=g(H, dh), i=g(d, m), bi=g(m), w=g(m, d),
               bw=g(d), g1=g(d), g2=g(d)) for _ in range(L)]
gf = g(d)


def ln(x, w):
    c = [a - sum(x) / d for a in x]
    s = math.sqrt(sum(a * a for a in c) / d + 1e-5)
    return [a / s * b for a, b in zip(c, w)]


def mv(x, W):
    return [sum(x[i] * W[i][j] for i in range(len(x))) for j in range(len(W[0]))]


def add(*v):
    return [sum(t) for t in zip(*v)]


def softmax(x):
    e = [math.exp(a - max(x)) for a in x]
    return [a / sum(e) for a in e]


def gelu(x):
    return .5 * x * (1 + math.erf(x / math.sqrt(2)))


def run(ids, hook=lambda n, v: v):
    c = {}

    def h(n, v):
        c[n] = hook(n, v)
        return c[n]

    x = [add(WE[t], WP[p]) for p, t in enumerate(ids)]
    for n, l in enumerate(layers):
        x = h(f"{n}.resid_pre", x)
        nx = [ln(r, l["g1"]) for r in x]
        q, k = ([h(f"{n}.{a}{j}", [mv(r, l[a][j]) for r in nx]) for j in range(H)] for a in "qk")
        v = [h(f"{n}.v{j}", [add(mv(r, l["v"][j]), l["bv"][j]) for r in nx]) for j in range(H)]
        z = []
        for j in range(H):
            s = [[sum(a * b for a, b in zip(q[j][i], k[j][t])) / math.sqrt(dh) for t in range(i + 1)] for i in range(T)]
            a = h(f"{n}.pattern{j}", [softmax(r) for r in s])
            z.append(h(f"{n}.z{j}", [[sum(a[i][t] * v[j][t][e] for t in range(i + 1)) for e in range(dh)] for i in range(T)]))
        ao = h(f"{n}.attn_out", [add(l["bo"], *[mv(z[j][p], l["o"][j]) for j in range(H)]) for p in range(T)])
        mid = h(f"{n}.resid_mid", [add(a, b) for a, b in zip(x, ao)])
        post = h(f"{n}.neuron", [[gelu(a + b) for a, b in zip(mv(ln(r, l["g2"]), l["i"]), l["bi"])] for r in mid])
        mo = h(f"{n}.mlp_out", [add(mv(r, l["w"]), l["bw"]) for r in post])
        x = [add(a, b) for a, b in zip(mid, mo)]
    c["logits"] = [mv(ln(r, gf), U) for r in x]
    return c


def metric(c):
    return c["logits"][-1][2] - c["logits"][-1][5]


def patch(name, source, positions=range(T)):
    return lambda n, v: [source[n][p] if p in positions else v[p] for p in range(T)] if n == name else v


def patch_unit(name, source, unit):
    def hook(n, v):
        return [[s if u == unit else o for u, (o, s) in enumerate(zip(own, src))] for own, src in zip(v, source[n])] if n == name else v

    return hook


def patch_edge(name, source, i, j):
    def hook(n, v):
        if n != name:
            return v
        out = [list(row) for row in v]
        out[i][j] = source[n][i][j]
        return out

    return hook


def cells(base, source):
    f = lambda hook: metric(run(base, hook))
    out = {}
    for site in ("resid_pre", "resid_mid", "attn_out", "mlp_out"):
        out[site] = [f(patch(f"{n}.{site}", source, {p})) for n in range(L) for p in range(T)]
    for site in ("z", "q", "k", "v", "pattern"):
        out[site] = [f(patch(f"{n}.{site}{j}", source)) for n in range(L) for j in range(H)]
    for site in ("z", "q", "k", "v"):
        out[site + "_by_position"] = [f(patch(f"{n}.{site}{j}", source, {p})) for n in range(L) for p in range(T) for j in range(H)]
    out["pattern_by_destination"] = [f(patch(f"{n}.pattern{j}", source, {i})) for n in range(L) for j in range(H) for i in range(T)]
    out["pattern_by_edge"] = [f(patch_edge(f"{n}.pattern{j}", source, i, t)) for n in range(L) for j in range(H) for i in range(T)
                              for t in range(i + 1)]
    out["neuron"] = [f(patch_unit(f"{n}.neuron", source, u)) for n in range(L) for u in range(m)]
    return out


A, B = [1, 2, 3, 4], [1, 5, 3, 4]
clean, corrupt = run(A), run(B)
assert abs(metric(clean) + 0.518225658956545) < 1e-5 and abs(metric(corrupt) + 1.0271907580434436) < 1e-5
OUT.mkdir(parents=True, exist_ok=True)
array = lambda x: np.array(x, dtype=np.float32)
heads = lambda x: np.concatenate(array(x), axis=1)  # [head, d, dh] -> [d, head * dh]
weights = {"transformer.wte.weight": array(WE), "transformer.wpe.weight": array(WP), "lm_head.weight": array(U).T.copy(),
           "transformer.ln_f.weight": array(gf), "transformer.ln_f.bias": np.zeros(d, np.float32)}
for n, l in enumerate(layers):
    at = f"transformer.h.{n}."
    weights |= {
        at + "ln_1.weight": array(l["g1"]), at + "ln_1.bias": np.zeros(d, np.float32),
        at + "ln_2.weight": array(l["g2"]), at + "ln_2.bias": np.zeros(d, np.float32),
        at + "attn.c_attn.weight": np.concatenate([heads(l["q"]), heads(l["k"]), heads(l["v"])], axis=1),
        at + "attn.c_attn.bias": np.concatenate([np.zeros(2 * d, np.float32), array(l["bv"]).reshape(-1)]),
        at + "attn.c_proj.weight": array(l["o"]).reshape(H * dh, d), at + "attn.c_proj.bias": array(l["bo"]),
        at + "mlp.c_fc.weight": array(l["i"]), at + "mlp.c_fc.bias": array(l["bi"]),
        at + "mlp.c_proj.weight": array(l["w"]), at + "mlp.c_proj.bias": array(l["bw"])}
save_file(weights, OUT / "model.safetensors")
(OUT / "config.json").write_text(json.dumps({
    "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu", "n_embd": d, "n_head": H, "n_inner": m,
    "n_layer": L, "n_positions": T, "vocab_size": V, "layer_norm_epsilon": 1e-5, "tie_word_embeddings": False}) + "\n")
(OUT / "cells.json").write_text(json.dumps({
    "clean": A, "corrupt": B, "answer": 2, "wrong": 5, "clean_metric": metric(clean), "corrupt_metric": metric(corrupt),
    "denoise": cells(B, clean), "noise": cells(A, corrupt)}, separators=(",", ":")) + "\n")
