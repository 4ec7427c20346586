# SPDX-License-Identifier: GPL-3.0-or-later
"""log P of sentences under the built-in model, with transformers: tests/golden/minimal_pairs.json.

    python tests/golden/make_minimal_pairs_golden.py
    python tests/golden/make_minimal_pairs_golden.py FILE.jsonl ...     prints the accuracy of files of minimal pairs instead
"""

import json
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAIRS = [
    ("The keys to the old house are lost.", "The keys to the old house is lost."),
    ("She hurt herself.", "She hurt himself."),
    ("Whom did the doctor see?", "Who did the doctor saw?"),
    ("He has never been there.", "He has ever been there."),
    ("The women who met the boy were tired.", "The women who met the boy was tired."),
    ("The dog slept.", "The dog slept the cat."),
]


def tools():
    folder = ROOT / "models/novella-7m"
    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()


def log_p(tokenizer, model, sentence):
    ids = torch.tensor([tokenizer(sentence).input_ids])
    with torch.no_grad():
        logs = model(ids).logits[0].log_softmax(-1)
    return logs[:-1].gather(1, ids[0, 1:, None])[:, 0]


tokenizer, model = tools()
if len(sys.argv) > 1:
    for name in sys.argv[1:]:
        rows = [json.loads(line) for line in open(name)]
        sums = [[log_p(tokenizer, model, row[key]).sum().item() for key in ("sentence_good", "sentence_bad")] for row in rows]
        print(name, len(rows), sum(good > bad for good, bad in sums) / len(rows),
              sum(good - bad for good, bad in sums) / len(rows))
else:
    out = [{"good": good, "bad": bad, "log_p": [log_p(tokenizer, model, s).sum().item() for s in (good, bad)]}
           for good, bad in PAIRS]
    file = ROOT / "tests/golden/minimal_pairs.json"
    file.write_text(json.dumps(out, indent=1) + "\n")
    print(file.read_text())
