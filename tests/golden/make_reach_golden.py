# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/reach/*.json: where attention goes, from Hugging Face transformers and NumPy.

    python tests/golden/make_reach_golden.py [REPOSITORY]

Masks of keys over the whole map, [query, key], by distance, depth, paragraph and passage, and the text's weight under them.
"""
import json
import re
import sys
from pathlib import Path

import numpy as np
import torch
from make_analyze_golden import BUILT_IN, Run, rounded
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM

TEXT = ("The old doctor asked the nurse to wait. The secret word is marmalade, said the nurse.\n\n"
        "The cats asked; the old cat waited for the doctor, and the doctor was late because the cats asked the nurse to wait.\n"
        "She was old, and the nurse was not.\n \n\n"
        "“What is the word?” asked the old doctor, and waited. The nurse asked the cats for it, and the cats asked the old cat. "
        "It was late. The doctor asked again. The secret word is marmalade, said the old cat.")
NEEDLE = "The secret word is marmalade"
MODELS = ("novella-7m", "llama-kv2")
DEPTHS, DEEP = 20, 100


def heads_of(pattern, ids, sections, passage):
    T = pattern.shape[-1]
    i, j = np.indices((T, T))
    legal = j <= i
    rows = np.arange(1, T)
    share = lambda mask: (pattern * (mask & legal)).sum(-1)
    section = np.array([max(s for s, first in enumerate(sections) if first <= t) for t in range(T)])
    sq, sk = section[i], section[j]
    first, last = passage
    on_passage = share((j >= first) & (j <= last))
    readers = np.arange(last + 1, T)
    out = [share(sq == sk)[rows].mean(), share(sk == sq - 1)[rows].mean(), share(sk < sq - 1)[rows].mean()]
    depth = []
    deep = [t for t in range(T) if t + 1 >= DEEP]
    for b in range(DEPTHS):
        low, high = b * (i + 1) // DEPTHS, (b + 1) * (i + 1) // DEPTHS
        depth.append(share((j >= low) & (j < high))[deep].mean() if deep else np.nan)
    largest = pattern.argmax(-1)
    there = (largest[readers] >= first) & (largest[readers] <= last)
    copied = {largest[t] for t in readers if first <= largest[t] <= last and t + 1 < T and ids[t + 1] == ids[largest[t]]}
    out += [sum(depth[DEPTHS // 4:DEPTHS * 3 // 4]), on_passage[readers].mean(),
            ((last + 1 - first) / (readers + 1)).mean(), there.mean(), len(copied) / (last + 1 - first)]
    edges = [0] + [2 ** k for k in range(32) if 2 ** k < T] + [T]
    out += [share((i - j >= a) & (i - j < b))[rows].mean() for a, b in zip(edges, edges[1:])]
    by_section = []
    for s in range(len(sections)):
        behind = [t for t in range(T) if section[t] > s]
        by_section.append(share(sk == s)[behind].mean() if behind else None)
    return dict(row=out + depth, by_section=by_section)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    out = root / "tests/golden/reach"
    out.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        folder = root / BUILT_IN if name in BUILT_IN else root / "tests/fixtures/models" / name
        config = AutoConfig.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, config=config, attn_implementation="eager",
                                                     torch_dtype=torch.float64).eval()
        encoding = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT)
        run = Run(model, config, {"input_ids": torch.tensor([encoding.ids])})
        # Offsets are characters; a section begins at the token that holds its first character.
        starts = [0] + [m.end() for m in re.finditer(r"\n[ \n]*\n", TEXT)]
        token_at = lambda c: next(t for t, (a, b) in enumerate(encoding.offsets) if b > c)
        sections = [0] + [token_at(c) for c in starts[1:]]
        begin = TEXT.index(NEEDLE)
        inside = [t for t, (a, b) in enumerate(encoding.offsets) if b > begin and a < begin + len(NEEDLE)]
        passage = [inside[0], inside[-1]]
        heads = [heads_of(data["pattern"][h], encoding.ids, sections, passage) for data in run.layers for h in range(run.heads)]
        (out / f"{name}.json").write_text(json.dumps(
            rounded(dict(text=TEXT, needle=NEEDLE, ids=encoding.ids, sections=sections, passage=passage, heads=heads)),
            separators=(",", ":"), ensure_ascii=False) + "\n")
        print(name, len(encoding.ids), sections, passage)


if __name__ == "__main__":
    main()
