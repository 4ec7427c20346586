# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/tasks.json: the built-in tasks on the built-in model, from transformers.

    python tests/golden/make_tasks_golden.py [REPOSITORY]
"""
import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM


def main(root):
    folder = root / "models/novella-7m"
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    one = lambda text: (lambda ids: ids[0] if len(ids) == 1 else None)(tokenizer.encode(text, add_special_tokens=False).ids)
    golden = {}
    for task in ("ioi", "induction", "agreement", "gendered-pronoun"):
        pairs = [json.loads(line) for line in (root / f"resources/tasks/{task}.jsonl").read_text().splitlines()]
        numbers = []
        for pair in pairs:
            answer, wrong = one(pair["answer"]), one(pair["wrong"])
            clean, corrupt = (tokenizer.encode(pair[side]).ids for side in ("clean", "corrupt"))
            if answer is None or wrong is None or len(clean) != len(corrupt):
                continue
            with torch.no_grad():
                rows = [model(torch.tensor([ids])).logits[0, -1].double() for ids in (clean, corrupt)]
            numbers.append([float(row[answer] - row[wrong]) for row in rows] + [float(rows[0].softmax(0)[answer])])
        golden[task] = {"pairs": len(numbers), "clean": None, "corrupt": None, "probability": None}
        if numbers:
            mean = torch.tensor(numbers).mean(0).tolist()
            golden[task].update(clean=mean[0], corrupt=mean[1], probability=mean[2], right=sum(n[0] > 0 for n in numbers) / len(numbers))
    (root / "tests/golden/tasks.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
