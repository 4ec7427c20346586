# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/focus/*.json: terms of scores, updates, rollout and flow, from Hugging Face transformers and NumPy.

    python tests/golden/make_focus_golden.py [REPOSITORY]

Everything is computed in float64 from what the reference implementation's modules put out and from its parameters.
Definitions: docs/measures.md. Largest flows come from augmenting shortest paths (Edmonds & Karp 1972) on a plain
dictionary, so that nothing is shared with the program's solver.
"""
import json
import sys
from collections import deque
from pathlib import Path

import numpy as np
import torch
from make_analyze_golden import BUILT_IN, TEXTS, Run, array, rounded
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM


def query_bias(run, l):
    block = run.blocks[l]
    if run.family == "bloom":
        return array(block.self_attention.query_key_value.bias).reshape(run.heads, 3, run.d_head)[:, 0]
    if run.family == "gpt2":
        return np.split(array(block.attn.c_attn.bias), 3)[0].reshape(run.heads, run.d_head)
    if run.family == "bert":
        return array(block.attention.self.query.bias).reshape(run.heads, run.d_head)
    bias = block.self_attn.q_proj.bias
    return np.zeros((run.heads, run.d_head)) if bias is None else array(bias).reshape(run.heads, run.d_head)


def output_bias(run, l):
    block = run.blocks[l]
    module = {"bloom": lambda: block.self_attention.dense, "gpt2": lambda: block.attn.c_proj,
              "bert": lambda: block.attention.output.dense, "llama": lambda: block.self_attn.o_proj}[run.family]()
    return None if module.bias is None else array(module.bias)


def breakdown(run, l, h, rank):
    """One row a query: key, position, bias, quadratic, score, probability; None for a row with fewer targets."""
    data, b_q, rows = run.layers[l], query_bias(run, l)[h], []
    for i in range(run.tokens):
        targets = range(i + 1 if run.causal else run.tokens)
        terms = []
        for j in targets:
            key = data["raw_k"][h, j]
            bias, quadratic = run.scale * (b_q @ key), run.scale * ((data["raw_q"][h, i] - b_q) @ key)
            position = run.position(h, i, j)
            if run.family == "llama":
                position = run.scale * (data["q"][h, i] @ data["k"][h, j]) - bias - quadratic
            terms.append((j, position, bias, quadratic, (position or 0) + bias + quadratic, data["pattern"][h, i, j]))
        terms.sort(key=lambda t: (-t[4], t[0]))
        rows.append(list(terms[rank]) if rank < len(terms) else None)
    return dict(layer=l, head=h, sort_idx=rank, rows=rows)


def updates(run, l):
    data, b_o, stream = run.layers[l], output_bias(run, l), run.layers[l]["resid_pre"]
    entries = [data["pattern"][h] @ data["v"][h] @ data["w_o"][h] for h in range(run.heads)]
    if b_o is not None:
        entries.append(np.broadcast_to(b_o, stream.shape))
    base = np.linalg.norm(stream, axis=-1)
    size = np.stack([np.linalg.norm(u, axis=-1) for u in entries], -1)
    product = np.stack([(u * stream).sum(-1) for u in entries], -1)
    z = np.stack([np.linalg.norm(data["pattern"][h] @ data["v"][h], axis=-1) for h in range(run.heads)], -1)
    return dict(layer=l, magnitude=size / base[:, None], orientation=product / size / base[:, None],
                literal=z / base[:, None], on_first=(data["pattern"].argmax(-1) == 0).T.astype(int))


def joint(run):
    matrices = []
    for data in run.layers:
        summed = data["pattern"].mean(0) + np.eye(run.tokens)
        matrices.append(summed / summed.sum(-1, keepdims=True))
    return matrices


def largest_flow(matrices, source, sink):
    room = {}
    for l, m in enumerate(matrices):
        for a in range(len(m)):
            for b in range(len(m)):
                if m[a, b] > 0:
                    room.setdefault((l + 1, a), {})[(l, b)] = m[a, b]
                    room.setdefault((l, b), {}).setdefault((l + 1, a), 0.0)
    start, end, total = (len(matrices), source), (0, sink), 0.0
    while True:
        parent, queue = {start: None}, deque([start])
        while queue and end not in parent:
            at = queue.popleft()
            for to, left in room.get(at, {}).items():
                if left > 1e-12 and to not in parent:
                    parent[to] = at
                    queue.append(to)
        if end not in parent:
            return total
        path, at = [], end
        while parent[at] is not None:
            path.append((parent[at], at))
            at = parent[at]
        least = min(room[a][b] for a, b in path)
        for a, b in path:
            room[a][b] -= least
            room[b][a] += least
        total += least


def through_layers(run):
    matrices = joint(run)
    rolled = matrices[0]
    for m in matrices[1:]:
        rolled = m @ rolled
    out = dict(rollout=rolled, head_rollout=run.layers[1]["pattern"][0] @ matrices[0], flow={})
    for i in (run.tokens // 2, run.tokens - 1):
        flow = np.array([largest_flow(matrices, i, j) if j <= i or not run.causal else 0.0 for j in range(run.tokens)])
        out["flow"][str(i)] = flow / flow.sum()
    return out


def golden(folder):
    config = AutoConfig.from_pretrained(folder)
    kind = AutoModel if config.model_type == "bert" else AutoModelForCausalLM
    model = kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
    text = TEXTS["doctor" if folder.name == Path(BUILT_IN).name else "tiny"][0]
    encoded = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text)
    inputs = {"input_ids": torch.tensor([encoded.ids])}
    if config.model_type == "bert":
        inputs["token_type_ids"] = torch.tensor([encoded.type_ids])
    run = Run(model, config, inputs)
    last = len(run.layers) - 1
    return dict(text=text, ids=encoded.ids,
                breakdowns=[breakdown(run, 0, 0, 0), breakdown(run, last, run.heads - 1, 2), breakdown(run, last // 2, 1, 1)],
                updates=[updates(run, l) for l in {0, last}], **through_layers(run))


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    out = root / "tests/golden/focus"
    out.mkdir(parents=True, exist_ok=True)
    for folder in [root / BUILT_IN] + sorted(p.parent for p in root.glob("tests/fixtures/models/*/config.json")):
        path = out / f"{folder.name}.json"
        path.write_text(json.dumps(rounded(golden(folder)), separators=(",", ":")) + "\n")
        print(path.relative_to(root), path.stat().st_size)


if __name__ == "__main__":
    main()
