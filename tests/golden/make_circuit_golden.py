# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/circuit.json: circuits and composition of heads by NumPy on the reference's weights.

    python tests/golden/make_circuit_golden.py [REPOSITORY]

Whole [d_model, d_model] and [vocab, vocab] products in float64, as the definitions read (docs/measures.md and
include/headlight/analyze/circuit/head_circuit.h); the weights as Hugging Face transformers loads them.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

HEADS = {"novella-7m": [(0, 0), (2, 3), (5, 7)], "llama-kv2": [(0, 1), (1, 3)]}


def array(x):
    return x.detach().to(torch.float64).numpy()


class Weights:
    """Math orientation, x W; per layer: q, k, v [head, d_model, d_head], o [head, d_head, d_model], gain [d_model]."""

    def __init__(self, model, config):
        self.family = config.model_type
        body = model.transformer if self.family == "bloom" else model.model
        heads = config.n_head if self.family == "bloom" else config.num_attention_heads
        width = config.hidden_size
        d = width // heads if self.family == "bloom" else config.head_dim
        self.heads, self.model, self.body = heads, model, body
        self.centred = self.family == "bloom"
        self.w_u = array(model.lm_head.weight).T
        self.w_e = array(body.get_input_embeddings().weight)
        self.final = array((body.ln_f if self.centred else body.norm).weight)
        self.layers = []
        for block in (body.h if self.centred else body.layers):
            if self.centred:
                fused = array(block.self_attention.query_key_value.weight).T.reshape(width, heads, 3, d)
                q, k, v = (fused[:, :, i].transpose(1, 0, 2) for i in range(3))
                o = array(block.self_attention.dense.weight).T.reshape(heads, d, width)
            else:
                a = block.self_attn
                split = lambda w: array(w.weight).T.reshape(width, -1, d).transpose(1, 0, 2)
                q = split(a.q_proj)
                k, v = (np.repeat(split(w), heads // config.num_key_value_heads, axis=0) for w in (a.k_proj, a.v_proj))
                o = array(a.o_proj.weight).T.reshape(heads, d, width)
            self.layers.append(dict(q=q, k=k, v=v, o=o, gain=array(block.input_layernorm.weight)))

    def folded(self, gain, w):
        w = gain[:, None] * w
        return w - w.mean(0) if self.centred else w

    def matrices(self, l, h, fold):
        data = self.layers[l]
        read = (lambda w: self.folded(data["gain"], w)) if fold else (lambda w: w)
        q, k, v = read(data["q"][h]), read(data["k"][h]), read(data["v"][h])
        return v @ data["o"][h], q @ k.T

    def effective_embedding(self):
        """The stream after block 0 with attention left out, from the reference's own modules."""
        with torch.no_grad():
            x = self.body.get_input_embeddings().weight[None]
            if self.centred:
                x = self.body.word_embeddings_layernorm(x)
                block = self.body.h[0]
                y = block.mlp(block.post_attention_layernorm(x), x)  # adds the residual itself
            else:
                block = self.body.layers[0]
                y = x + block.mlp(block.post_attention_layernorm(x))
        return array(y)[0]


def eigen_score(m):
    values = np.linalg.eigvals(m)
    return float(values.sum().real / np.abs(values).sum()), float(np.abs(values).max())


def nonzero_score(left, right):
    """Of left right^T [vocab, vocab]: through its small counterpart where the vocabulary is large."""
    return eigen_score(left @ right.T)[0] if len(left) <= 1000 else eigen_score(right.T @ left)[0]


def golden(folder, name):
    config = AutoConfig.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
    w = Weights(model, config)
    effective = w.effective_embedding()
    heads = []
    for l, h in HEADS[name]:
        out = dict(layer=l, head=h)
        for fold in (False, True):
            ov, qk = w.matrices(l, h, fold)
            w_u = w.folded(w.final, w.w_u) if fold else w.w_u
            u, s, vt = np.linalg.svd(ov)
            copying, largest = eigen_score(ov)
            rank = int((s > 1e-9 * s[0]).sum())
            left, right = w.w_e @ (u[:, :rank] * s[:rank]), (vt[:rank] @ w_u).T
            u2, s2, vt2 = np.linalg.svd(qk)
            rank2 = int((s2 > 1e-9 * s2[0]).sum())
            out["folded" if fold else "plain"] = dict(
                copying=copying, largest=largest, copying_full=nonzero_score(left, right), matching=eigen_score(qk)[0],
                matching_full=nonzero_score(w.w_e @ (u2[:, :rank2] * s2[:rank2]), w.w_e @ vt2[:rank2].T))
        ov, qk = w.matrices(l, h, False)
        map_ov, map_qk = effective @ ov @ w.w_u, w.w_u.T @ qk @ effective.T
        n = len(map_ov)
        rank = (map_ov < np.diag(map_ov)[:, None]).sum(1)
        out.update(ov_bottom_10=(rank < 10).mean(), ov_bottom_5pc=(rank < max(1, n // 20)).mean(),
                   ov_top_10=(rank >= n - 10).mean(), ov_median=np.median(rank) / (n - 1),
                   qk_largest=(map_qk.max(1) <= np.diag(map_qk)).mean())
        heads.append(out)
    composition = []
    rng = np.random.default_rng(0)
    for _ in range(40):
        a, b = sorted(rng.choice(len(w.layers), 2, replace=False))
        i, j, kind = rng.integers(w.heads), rng.integers(w.heads), int(rng.integers(3))
        scores = []
        for fold in (False, True):
            first, _ = w.matrices(a, i, fold)
            ov, qk = w.matrices(b, j, fold)
            second = (qk, qk.T, ov)[kind]
            scores.append(np.linalg.norm(first @ second) / (np.linalg.norm(first) * np.linalg.norm(second)))
        composition.append([kind, int(a), int(i), int(b), int(j), *scores])
    return dict(heads=heads, composition=composition)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    out = {}
    for name in HEADS:
        folder = root / ("models" if name == "novella-7m" else "tests/fixtures/models") / name
        out[name] = golden(folder, name)
    rounded = json.loads(json.dumps(out), parse_float=lambda x: float(f"{float(x):.8g}"))
    (root / "tests/golden/circuit.json").write_text(json.dumps(rounded, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
