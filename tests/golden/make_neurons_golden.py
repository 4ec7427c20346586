# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/corpus/neurons.json: what the built-in model's neurons, layers and heads do over thirty sentences of Mary
Shelley's Frankenstein, from Hugging Face transformers (float64, eager attention), NumPy, SciPy and scikit-learn alone.

    python tests/golden/make_neurons_golden.py BOOK [REPOSITORY]

Definitions: include/headlight/corpus/neurons/*.h, include/headlight/corpus/distances/*.h. The first token of a sentence is left out.
"""
import json
import re
import sys
from pathlib import Path

import numpy as np
import torch
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import jensenshannon, squareform
from sklearn.manifold import MDS
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

ROOT = Path(sys.argv[2] if len(sys.argv) > 2 else ".")
MODEL = ROOT / "models/novella-7m"
LISTED = 5


def sentences(book):
    found = re.split(r"(?<=[.!?])\s+", Path(book).read_text(encoding="utf-8").split("\n", 1)[1])
    return [s for s in (" ".join(s.split()) for s in found) if 6 <= len(s.split()) <= 18][:30]


class Run:
    """Of one sentence, everything [layer, ...]; rows from the second token on."""

    def __init__(self, model, ids):
        blocks, kept, hooks = model.transformer.h, {}, []
        for l, block in enumerate(blocks):
            def keep(name, of_input):
                def hook(module, args, output):
                    value = args[0] if of_input else output
                    kept[name] = (value[0] if isinstance(value, tuple) else value)[0].numpy()
                return hook
            hooks.append(block.post_attention_layernorm.register_forward_hook(keep(f"mid{l}", True)))
            hooks.append(block.mlp.dense_4h_to_h.register_forward_hook(keep(f"m{l}", True)))
            hooks.append(block.register_forward_hook(keep(f"post{l}", False)))
            hooks.append(block.mlp.dense_4h_to_h.register_forward_hook(keep(f"y{l}", False)))
        with torch.no_grad():
            out = model(torch.tensor([ids]), output_attentions=True)
        for hook in hooks:
            hook.remove()
        layers = range(len(blocks))
        self.r, self.m, self.o, self.y = (np.stack([kept[f"{name}{l}"][1:] for l in layers]) for name in ("mid", "m", "post", "y"))
        self.patterns = np.concatenate([a[0].numpy() for a in out.attentions])[:, 1:]  # [head of the model, query, key]
        self.next = ids[2:] + [-1]


def main():
    torch.set_default_dtype(torch.float64)
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    model = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.float64, attn_implementation="eager").eval()
    texts = sentences(sys.argv[1])
    ids = [tokenizer.encode(t).ids for t in texts]
    runs = [Run(model, i) for i in ids]
    norm, w_u = model.transformer.ln_f, model.lm_head.weight.detach()
    layers, width = runs[0].m.shape[0], runs[0].m.shape[2]

    def logits(x):
        with torch.no_grad():
            return (norm(torch.tensor(x)) @ w_u.T).numpy()

    # Neurons: each text by its largest and its smallest coefficient.
    def triggers(layer, neuron, sign):
        rows = []
        for text, run in enumerate(runs):
            m = sign * run.m[layer][:, neuron]
            at = int(m.argmax())
            if m[at] > 0:
                rows.append([sign * float(m[at]), text, at + 1, run.next[at]])
        return sorted(rows, key=lambda row: (-sign * row[0], row[1]))

    neurons = []
    for layer in range(layers):
        for neuron in range(7, width, 151):
            largest, smallest = triggers(layer, neuron, 1), triggers(layer, neuron, -1)
            if any(abs(a[0] - b[0]) < 1e-5 for rows in (largest, smallest) for a, b in zip(rows[:LISTED], rows[1:LISTED + 1])):
                continue  # float32 may turn them round
            neurons.append({"layer": layer, "neuron": neuron, "largest": largest[:LISTED], "smallest": smallest[:LISTED],
                            "active": int(sum((run.m[layer][:, neuron] > 0).sum() for run in runs))})

    # Values, through the final norm's gain.
    tops, values = [], []
    for layer in range(layers):
        v = model.transformer.h[layer].mlp.dense_4h_to_h.weight.detach().T * norm.weight.detach()
        p = torch.softmax(v @ w_u.T, 1).numpy()
        tops.append(p.argmax(1))
        triggered, agreeing, ranks = 0, 0, []
        for neuron in range(width):
            following = [row[3] for row in triggers(layer, neuron, 1) if row[3] >= 0]
            if following:
                triggered += 1
                agreeing += int(tops[layer][neuron] == following[0])
                ranks.append(int((p[neuron] > p[neuron][following[0]]).sum()))
        values.append({"triggered": triggered, "agreeing": agreeing, "rank_median": float(np.median(ranks)),
                       "surest": float(p.max())})

    # How layers come to the prediction, at every token.
    final = [logits(run.o[-1]).argmax(1) for run in runs]
    agreement = []
    for layer in range(layers):
        counts = dict.fromkeys(("agreement", "residual", "ffn", "composition", "zero_agreement", "residual_final"), 0)
        active, probability = [], []
        for run, last in zip(runs, final):
            r = logits(run.r[layer])
            p = np.exp(r - r.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            tokens = zip(r.argmax(1), logits(run.y[layer]).argmax(1), logits(run.o[layer]).argmax(1), last, run.m[layer])
            for i, (a, b, c, top, m) in enumerate(tokens):
                part = "agreement" if a == b == c else "residual" if c == a else "ffn" if c == b else "composition"
                counts[part if not (a == b != c) else "composition"] += 1
                counts["zero_agreement"] += int(not (tops[layer][m > 0] == b).any())
                counts["residual_final"] += int(a == top)
                active.append((m > 0).mean())
                probability.append(p[i][top])
        agreement.append({**{k: v / len(active) for k, v in counts.items()}, "active": float(np.mean(active)),
                          "residual_probability": float(np.mean(probability)), "tokens": len(active)})

    # Heads.
    heads, queries = runs[0].patterns.shape[0], sum(run.patterns.shape[1] for run in runs)
    js = np.zeros((heads, heads))
    for run in runs:
        for a in range(heads):
            for b in range(a):
                js[a, b] += np.nansum(jensenshannon(run.patterns[a], run.patterns[b], axis=1) ** 2)
    js = (js + js.T) / queries
    mds = min((MDS(2, metric="precomputed", n_init=1, init="random", max_iter=3000, eps=1e-12, random_state=seed,
                   normalized_stress=False).fit(js) for seed in range(20)), key=lambda fit: fit.stress_)
    golden = {"texts": texts, "ids": ids, "neurons": neurons, "values": values, "agreement": agreement,
              "queries": queries, "divergences": [round(x, 7) for x in squareform(js)], "stress": float(mds.stress_),
              "merges": [round(float(x), 7) for x in linkage(squareform(js), "average")[:, 2]]}
    path = ROOT / "tests/golden/corpus/neurons.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(golden, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(len(texts), "texts,", queries, "tokens,", len(neurons), "neurons,", path.stat().st_size, "bytes, stress", mds.stress_)
    print(values, agreement)


main()
