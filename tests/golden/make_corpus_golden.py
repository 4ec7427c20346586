# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/corpus_heads.json: measures of heads over 200 sentences of a treebank, from the attentions of Hugging Face
transformers in float64.

    python tests/golden/make_corpus_golden.py [REPOSITORY]

Definitions: src/analyze/heads/head_measures.cpp; query 0, which can only attend to itself, is left out.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

torch.set_default_dtype(torch.float64)
root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
folder = root / "models/novella-7m"
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").double().eval()
FIRST = 10
edges = [0, 1] + [2**k for k in range(1, 13)]


def of_text(ids):
    """measure -> [layer, head], and over how many queries; weights by distance [layer, head, bin]."""
    with torch.no_grad():
        a = np.stack([x[0].numpy() for x in model(torch.tensor([ids]), output_attentions=True).attentions])
    n = len(ids)
    i = np.arange(n)
    rows = a[:, :, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        plogp = np.where(rows > 0, rows * np.log(rows), 0)
    ordered = np.sort(rows, -1)
    same = np.array([[j < q and ids[j] == ids[q] for j in i] for q in i])
    behind = np.zeros_like(same)
    behind[:, 1:] = same[:, :-1]
    repeats = same.any(1)
    out = {
        "entropy": (-plogp.sum(-1).mean(-1), n - 1),
        "mean_distance": ((rows * np.abs(i[1:, None] - i)).sum(-1).mean(-1), n - 1),
        "share_self": (a[:, :, i[1:], i[1:]].mean(-1), n - 1),
        "share_previous": (a[:, :, i[1:], i[:-1]].mean(-1), n - 1),
        "share_first": (rows[..., 0].mean(-1), n - 1),
        "top1_minus_top2": ((ordered[..., -1] - ordered[..., -2]).mean(-1), n - 1),
        "argmax_first": ((rows.argmax(-1) == 0).mean(-1), n - 1),
        "max_weight": (rows.max((-1, -2)), n - 1),
    }
    if repeats.any():
        out["induction"] = ((a * behind).sum(-1)[:, :, repeats].mean(-1), int(repeats.sum()))
        out["duplicate_token"] = ((a * same).sum(-1)[:, :, repeats].mean(-1), int(repeats.sum()))
    bins = np.searchsorted(edges, np.abs(i[1:, None] - i), "right") - 1
    far = np.stack([(rows * ((bins == b) & (i <= i[1:, None]))).sum((-1, -2)) for b in range(len(edges))], -1)
    return out, far, a[:, :, :FIRST, :FIRST]


def variability(corners):
    """Vig & Belinkov 2019, section 4.2, over the first tokens without attention to token 0; of pairs that at least two texts have."""
    differences = total = 0
    for q in range(1, FIRST):
        for k in range(1, q + 1):
            x = np.stack([c[:, :, q, k] for c in corners if c.shape[2] > q])
            differences = differences + np.abs(x - x.mean(0)).sum(0)
            total = total + x.sum(0)
    return differences / (2 * total)


texts = (root / "tests/fixtures/treebank/ewt-sentences.txt").read_text(encoding="utf-8").splitlines()
found, distances, corners = {}, 0, []
for text in texts:
    measures, far, corner = of_text(tokenizer.encode(text).ids)
    if corner.shape[2] > 1:
        corners.append(corner)
    distances = distances + far
    for name, (value, rows) in measures.items():
        found.setdefault(name, []).append((value, rows))
golden = {
    "distance": np.round(distances, 7).tolist(),
    "variability": {"texts": len(corners), "by_text": np.round(variability(corners), 9).tolist()},
    "measures": {},
}
for name, terms in found.items():
    values, rows = np.stack([v for v, _ in terms]), np.array([r for _, r in terms])
    by_query = (values * rows[:, None, None]).sum(0) / rows.sum()
    golden["measures"][name] = {
        "texts": len(terms),
        "queries": int(rows.sum()),
        "by_text": np.round(values.mean(0), 9).tolist(),
        "by_query": None if name == "max_weight" else np.round(by_query, 9).tolist(),
    }
(root / "tests/golden/corpus_heads.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
