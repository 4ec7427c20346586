# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/compare.json: what the comparison of two runs must find, from transformers, NumPy and SciPy alone.

    python tests/golden/make_compare_golden.py [REPOSITORY]

Row distances, CKA and RSA of random numbers; for two tiny models, every head of one text against another; heads of two models
matched. Everything is computed in float64. Definitions: docs/compare.md.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr
from scipy.stats import spearmanr
from tokenizers import Tokenizer
from transformers import AutoModel

A = "The old cat asked, and he was late."
B = "Then the cat asked, because she was late."


def lcs(a, b):
    """Pairs of equal tokens: common head and tail, then the longest common subsequence, the earlier token of a first."""
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    x, y = a[head:len(a) - tail], b[head:len(b) - tail]
    best = np.zeros((len(x) + 1, len(y) + 1), int)
    for i in reversed(range(len(x))):
        for j in reversed(range(len(y))):
            best[i, j] = best[i + 1, j + 1] + 1 if x[i] == y[j] else max(best[i + 1, j], best[i, j + 1])
    pairs, i, j = [(k, k) for k in range(head)], 0, 0
    while i < len(x) and j < len(y):
        if x[i] == y[j]:
            pairs.append((head + i, head + j))
            i, j = i + 1, j + 1
        elif best[i + 1, j] >= best[i, j + 1]:
            i += 1
        else:
            j += 1
    pairs += [(len(a) - k, len(b) - k) for k in range(tail, 0, -1)]
    # A single token in place of another, between pairs.
    replaced = [(i + 1, j + 1) for (i, j), (p, q) in zip(pairs, pairs[1:]) if p - i == 2 and q - j == 2]
    return sorted(pairs + replaced)


def js(p, q):
    return jensenshannon(p, q) ** 2


def rows_on_common(pattern_a, pattern_b, row, pairs):
    """Distributions on the union of the keys of both texts."""
    own_a = [k for k in range(pattern_a.shape[1]) if k not in [p for p, _ in pairs]]
    own_b = [k for k in range(pattern_b.shape[1]) if k not in [p for _, p in pairs]]
    p, q = pattern_a[row[0]], pattern_b[row[1]]
    common = [(p[i], q[j]) for i, j in pairs]
    return (np.array([x for x, _ in common] + [p[k] for k in own_a] + [0] * len(own_b)),
            np.array([x for _, x in common] + [0] * len(own_a) + [q[k] for k in own_b]))


class Run:
    """patterns [layer, head, query, key], z [layer, token, head, d], states [layer + 1, token, d] in float64."""

    def __init__(self, folder, text, weights_noise=0.0):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        model = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
        encoded = self.tokenizer.encode(text)
        self.tokens = encoded.tokens
        z, states = [], []
        blocks = model.h if hasattr(model, "h") else model.layers
        for block in blocks:
            out = block.attn.c_proj if hasattr(block, "attn") else block.self_attn.o_proj
            out.register_forward_pre_hook(lambda m, args: z.append(args[0][0].detach().numpy()))
            block.register_forward_pre_hook(lambda m, args: states.append(args[0][0].detach().numpy()))
        blocks[-1].register_forward_hook(
            lambda m, args, out: states.append((out[0] if isinstance(out, tuple) else out).reshape(states[0].shape).detach().numpy()))
        with torch.no_grad():
            result = model(torch.tensor([encoded.ids]), output_attentions=True)
        self.patterns = np.stack([layer[0].numpy() for layer in result.attentions])
        heads = self.patterns.shape[1]
        self.z = np.stack([each.reshape(each.shape[0], heads, -1) for each in z])
        self.states = np.stack(states)


def gram_cka(x, y):
    x, y = x - x.mean(0), y - y.mean(0)
    return np.linalg.norm(y.T @ x) ** 2 / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))


def unbiased_hsic(k, l):
    n = len(k)
    k, l = k - np.diag(np.diag(k)), l - np.diag(np.diag(l))
    one = np.ones(n)
    return (np.trace(k @ l) + (one @ k @ one) * (one @ l @ one) / ((n - 1) * (n - 2)) - 2 * (one @ k @ l @ one) / (n - 2)) / (n * (n - 3))


def unbiased_cka(x, y):
    k, l = x @ x.T, y @ y.T
    return unbiased_hsic(k, l) / np.sqrt(unbiased_hsic(k, k) * unbiased_hsic(l, l))


def rsa(x, y):
    def distances(m):
        unit = m / np.linalg.norm(m, axis=1, keepdims=True)
        return (1 - unit @ unit.T)[np.triu_indices(len(m), 1)]
    return spearmanr(distances(x), distances(y)).statistic


def compare(folder):
    a, b = Run(folder, A), Run(folder, B)
    pairs = lcs(a.tokens, b.tokens)
    causal = all(np.triu(a.patterns[0, 0], 1).ravel() == 0)
    rows = [p for p in pairs if not (causal and 0 in p)]
    layers, heads = a.patterns.shape[:2]
    table = []
    for l in range(layers):
        for h in range(heads):
            distances = []
            for row in rows:
                p, q = rows_on_common(a.patterns[l, h], b.patterns[l, h], row, pairs)
                distances.append((js(p, q), np.abs(p - q).sum() / 2))
            x = np.stack([a.z[l, i, h] for i, _ in rows])
            y = np.stack([b.z[l, j, h] for _, j in rows])
            norm = lambda m: np.linalg.norm(m, axis=1)
            table.append({
                "js": np.mean([d for d, _ in distances]), "js_max": np.max([d for d, _ in distances]),
                "tv": np.mean([d for _, d in distances]),
                "z_cosine": np.mean((x * y).sum(1) / (norm(x) * norm(y))),
                "z_relative_l2": np.mean(norm(y - x) / norm(x))})
    kept = [p for p in pairs if 0 not in p]
    of = lambda run, side, s: np.stack([run.states[s][p[side]] for p in kept])
    states = range(layers + 1)
    grid = lambda f: [[float(f(of(a, 0, i), of(b, 1, j))) for j in states] for i in states]
    return {"pairs": pairs, "heads": table, "cka": grid(gram_cka), "cka-unbiased": grid(unbiased_cka), "rsa": grid(rsa)}


def match(folder_a, folder_b):
    a, b = Run(folder_a, A), Run(folder_b, A)
    assert a.tokens == b.tokens
    flat = lambda run: run.patterns.reshape(-1, *run.patterns.shape[2:])
    x, y = flat(a), flat(b)
    costs = np.array([[np.mean([js(p[r], q[r]) for r in range(1, len(p))]) for q in y] for p in x])
    rows, columns = linear_sum_assignment(costs)
    return {"partners": columns.tolist(), "js": costs[rows, columns].tolist()}


def rows(generator):
    out = []
    for size, own in ((3, 0), (7, 2), (40, 5)):
        p, q = generator.dirichlet(np.ones(size + own)), generator.dirichlet(np.ones(size + own))
        full_p, full_q = np.append(p, np.zeros(own)), np.concatenate([q[:size], np.zeros(own), q[size:]])
        out.append({"a": p[:size].tolist(), "b": q[:size].tolist(), "rest_a": p[size:].sum(), "rest_b": q[size:].sum(),
                    "js": js(full_p, full_q), "tv": np.abs(full_p - full_q).sum() / 2,
                    "hellinger": np.linalg.norm(np.sqrt(full_p) - np.sqrt(full_q)) / np.sqrt(2),
                    "kl": rel_entr(p, q).sum() if own == 0 else None})
    return out


def main(root):
    generator = np.random.default_rng(7)
    x, y = generator.normal(size=(9, 5)), generator.normal(size=(9, 12))
    y[:, :5] += x
    models = root / "tests/fixtures/models"
    golden = {"a": A, "b": B, "rows": rows(generator),
              "states": {"x": x.tolist(), "y": y.tolist(), "cka": gram_cka(x, y), "cka-unbiased": unbiased_cka(x, y), "rsa": rsa(x, y)},
              "models": {name: compare(models / name) for name in ("gpt2", "llama-kv2")},
              "match": match(models / "gpt2", models / "gpt2-untied")}
    (root / "tests/golden/compare.json").write_text(json.dumps(golden, indent=0, default=float) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
