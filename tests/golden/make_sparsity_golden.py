# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/sparsity/*.json: what heads keep under sparse schemes, from Hugging Face transformers and NumPy.

    python tests/golden/make_sparsity_golden.py [REPOSITORY]

Masks are made over the whole map, [query, key], one definition after the other: Native Sparse Attention (arXiv:2502.11089,
section 3.3) with a block's importance the attention that the heads of a key/value group give to it together, a sliding window,
the first keys and a window, the largest keys. The mass that a row keeps is its weight under the mask.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from make_analyze_golden import BUILT_IN, Run, rounded
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, AutoConfig

TEXT = ("The old doctor asked the nurse to wait, because the old doctor was late. The nurse asked the cats, and the old cat "
        "waited for the doctor; the doctor was late, and the cats asked the nurse to wait because she was old.")
MODELS = ("novella-7m", "bloom-h6", "llama-kv1", "llama-kv2")
SCHEMES = [dict(scheme="nsa", block=4, stride=2, select=4, top=4, window=5),
           dict(scheme="nsa", block=8, stride=8, select=3, top=3, window=2),
           dict(scheme="window", window=6), dict(scheme="sinks", sinks=2, window=5), dict(scheme="topk", budget=3)]


def masks(o, pattern, group, h):
    """[query, key] booleans of one head: compressed, selected, window; and the compressed blocks that each query reads."""
    T = pattern.shape[-1]
    i, j = np.indices((T, T))
    legal = j <= i
    none = np.zeros((T, T), bool)
    compressed, selected, window, blocks = none.copy(), none.copy(), none.copy(), np.zeros(T, int)
    if "window" in o:
        window = legal & (i - j < o["window"])
    if o["scheme"] == "sinks":
        selected = legal & (j < o["sinks"])
    if o["scheme"] == "topk":
        for q in range(T):
            selected[q, np.argsort(-pattern[h, q, :q + 1], kind="stable")[:o["budget"]]] = True
    if o["scheme"] == "nsa":
        shared = pattern[h // group * group:h // group * group + group].sum(0)
        for q in range(T):
            start = 0
            while start + o["block"] <= q + 1:
                compressed[q, start:start + o["block"]] = True
                blocks[q] += 1
                start += o["stride"]
            own = q // o["select"]
            weight = [shared[q, b * o["select"]:(b + 1) * o["select"]].sum() for b in range(own + 1)]
            chosen = {0, own, max(0, own - 1)}
            for b in sorted(range(own + 1), key=lambda b: (-weight[b], b)):
                if len(chosen) < o["top"]:
                    chosen.add(b)
            for b in chosen:
                selected[q, b * o["select"]:(b + 1) * o["select"]] = True
        selected &= legal
    return compressed, selected, window, blocks


def head(o, pattern, group, h):
    compressed, selected, window, blocks = masks(o, pattern, group, h)
    p, kept = pattern[h], selected | window
    T = len(p)
    rows = (p * kept).sum(-1)[1:]
    nsa, topk = o["scheme"] == "nsa", o["scheme"] == "topk"
    pairs = blocks + selected.sum(-1) + window.sum(-1) if nsa else kept.sum(-1)
    read = (T + pairs[-1]) / 2 if topk else pairs[-1]
    held = T + blocks[-1] if nsa else T if topk else pairs[-1]
    return [rows.mean(), np.percentile(rows, 10), pairs.sum() / (T * (T + 1) / 2), held / T, read / T,
            (p * compressed).sum(-1)[1:].mean(), (p * selected).sum(-1)[1:].mean(), (p * window).sum(-1)[1:].mean()]


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    out = root / "tests/golden/sparsity"
    out.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        folder = root / BUILT_IN if name in BUILT_IN else root / "tests/fixtures/models" / name
        config = AutoConfig.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, config=config, attn_implementation="eager",
                                                     torch_dtype=torch.float64).eval()
        ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).ids
        run = Run(model, config, {"input_ids": torch.tensor([ids])})
        cases = []
        for o in SCHEMES:
            heads = [[head(o, data["pattern"], run.group, h) for h in range(run.heads)] for data in run.layers]
            cases.append(dict(options=o, heads=heads))
        (out / f"{name}.json").write_text(
            json.dumps(rounded(dict(text=TEXT, ids=ids, cases=cases)), separators=(",", ":")) + "\n")
        print(name, len(ids))


if __name__ == "__main__":
    main()
