# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/corpus/removal.json: for some neurons of the built-in model the sentences that trigger them most, and the
coefficient at the end of the prefix once each of its tokens is removed, from Hugging Face transformers (float64) alone.

    python tests/golden/make_removal_golden.py [REPOSITORY]

Definitions: include/headlight/corpus/neurons/removal.h. The sentences are those of neurons.json.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
MODEL = ROOT / "models/novella-7m"
TRIGGERS = 6


def main():
    torch.set_default_dtype(torch.float64)
    known = json.loads((ROOT / "tests/golden/corpus/neurons.json").read_text(encoding="utf-8"))
    model = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.float64, attn_implementation="eager").eval()
    kept = {}
    for number, block in enumerate(model.transformer.h):
        block.mlp.dense_4h_to_h.register_forward_hook(lambda _, args, __, n=number: kept.update({n: args[0][0].numpy()}))

    def coefficients(ids):
        with torch.no_grad():
            model(torch.tensor([ids]))
        return [kept[n].copy() for n in range(len(model.transformer.h))]

    whole = [coefficients(ids) for ids in known["ids"]]
    neurons = []
    for each in known["neurons"][:5]:
        layer, neuron = each["layer"], each["neuron"]
        best = []
        for text, values in enumerate(whole):
            row = values[layer][1:, neuron]
            position = int(row.argmax()) + 1
            if row.max() > 0:
                best.append((-row.max(), text, position))
        triggers = []
        for value, text, position in sorted(best)[:TRIGGERS]:
            prefix = known["ids"][text][: position + 1]
            without = [None] * len(prefix)
            for p in range(1, len(prefix)):
                if len(prefix) > 2:
                    without[p] = float(f"{coefficients(prefix[:p] + prefix[p + 1:])[layer][-1, neuron]:.9g}")
            triggers.append({"text": text, "position": position, "whole": float(f"{-value:.9g}"), "without": without})
        neurons.append({"layer": layer, "neuron": neuron, "triggers": triggers})
    out = {"texts": known["texts"], "neurons": neurons}
    (ROOT / "tests/golden/corpus/removal.json").write_text(json.dumps(out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
