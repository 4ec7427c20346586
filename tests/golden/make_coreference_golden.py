# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/corpus/coreference.json: what heads of the built-in model do at the mentions of tests/fixtures/coreference, from
Hugging Face transformers (float32, eager attention) and NumPy alone, with readers of its own.

    python tests/golden/make_coreference_golden.py [REPOSITORY]

Definitions: include/headlight/corpus/coreference/*.h.
"""
import csv
import json
import re
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
MODEL = ROOT / "models/novella-7m"
FILES = ROOT / "tests/fixtures/coreference"
PRONOUNS = "he him his himself she her hers herself".split()


def documents():
    """(id, text, mentions): a mention is (chain, begin, end, head begin, head end) in characters; all texts are ASCII."""
    out = []
    text = name = None
    for block in (FILES / "documents.conllu").read_text().strip().split("\n\n"):
        lines = block.split("\n")
        for line in lines:
            if line.startswith("# newdoc id = "):
                if name:
                    out.append((name, text, mentions))
                name, text, mentions, opened = line.split(" = ")[1], "", [], []
        sentence = next(line for line in lines if line.startswith("# text = ")).split(" = ", 1)[1]
        if text:
            text += " "
        at = len(text)
        text += sentence
        spans = []
        for line in lines:
            if line.startswith("#"):
                continue
            columns = line.split("\t")
            begin = text.index(columns[1], at)
            at = begin + len(columns[1])
            spans.append((begin, at))
            entity = re.search(r"Entity=([^|]*)", columns[9])
            for item in re.findall(r"\([^()]*\)?|[^()]+\)", entity.group(1)) if entity else []:
                if item.startswith("("):
                    chain, _, head, _ = item.strip("()").split("-")
                    opened.append((chain, len(spans) - 1, int(head)))
                if item.endswith(")"):
                    chain = item.strip("()").split("-")[0]
                    mention = next(m for m in reversed(opened) if m[0] == chain)
                    opened.remove(mention)
                    head = spans[mention[1] + mention[2] - 1]
                    mentions.append((chain, spans[mention[1]][0], at, *head))
    out.append((name, text, mentions))
    return [(name, text, sorted(found, key=lambda m: (m[3], m[1]))) for name, text, found in out]


def questions():
    """(score, text, pronoun, first name, second name, answer): spans, and 0 or 1."""
    out = []
    with open(FILES / "gap.tsv", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            span = lambda name: (int(row[name + "-offset"]), int(row[name + "-offset"]) + len(row[name]))
            names = sorted([(span("A"), row["A-coref"]), (span("B"), row["B-coref"])])
            right = [i for i, (_, answer) in enumerate(names) if answer == "TRUE"]
            if right:
                out.append(("gap", row["Text"], span("Pronoun"), names[0][0], names[1][0], right[0]))
    people = ["the developer", "the designer", "the guard", "the nurse", "the cook", "the clerk", "the manager", "the secretary"]
    for kind in ("pro", "anti"):
        for line in (FILES / f"{kind}_stereotyped.txt").read_text().splitlines():
            marked = line.split(" ", 1)[1]
            text = marked.replace("[", "").replace("]", "")
            spans = []
            for found in re.finditer(r"\[(.*?)\]", marked):
                before = marked[: found.start()]
                begin = found.start() - before.count("[") - before.count("]")
                spans.append((begin, begin + len(found.group(1))))
            pronoun = next(s for s in spans if text[slice(*s)].lower() in PRONOUNS)
            person = next(s for s in spans if text[slice(*s)].lower() not in PRONOUNS)
            other = next((text.lower().index(p), text.lower().index(p) + len(p)) for p in people
                         if p in text.lower() and text.lower().index(p) != person[0])
            first, second = sorted([person, other])
            out.append(("winobias-" + kind, text, pronoun, first, second, int(second == person)))
    return out


tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
model = AutoModel.from_pretrained(MODEL, dtype=torch.float32, attn_implementation="eager").eval()


class Read:
    def __init__(self, text):
        encoding = tokenizer.encode(text)
        self.spans = [None if s else o for s, o in zip(encoding.special_tokens_mask, encoding.offsets)]
        with torch.no_grad():
            out = model(torch.tensor([encoding.ids]), output_attentions=True)
        self.patterns = np.stack([a[0].numpy().astype(np.float64) for a in out.attentions])  # [layer, head, token, token]

    def tokens(self, begin, end):
        return [t for t, s in enumerate(self.spans) if s and s[0] < end and begin < s[1]]

    def weight(self, source, target):
        """[layer * head]: columns summed, rows averaged."""
        rows, columns = self.tokens(*source), self.tokens(*target)
        return self.patterns[:, :, rows][:, :, :, columns].sum(3).mean(2).ravel()


def chains():
    texts, hits, nearest, match, cases = [], [], [], [], 0
    for name, text, mentions in documents():
        read = Read(text)
        asked = []
        for m, (chain, _, _, begin, end) in enumerate(mentions):
            earlier = [c for c in range(m) if mentions[c][3] < begin]
            if not any(mentions[c][0] == chain for c in earlier):
                continue
            weights = np.array([read.weight((begin, end), mentions[c][3:]) for c in earlier])  # [candidate, head]
            chosen = np.array(earlier)[weights.argmax(0)]
            right = lambda c: any(o[0] == chain and o[3:] == mentions[c][3:] for o in mentions)
            hits.append([right(c) for c in chosen])
            nearest.append(right(earlier[-1]))
            same = [c for c in earlier if text[slice(*mentions[c][3:])].lower() == text[begin:end].lower()]
            match.append(bool(same) and right(same[-1]))
            asked.append({"mention": m, "to": chosen.tolist(), "weights": weights.max(0).round(7).tolist()})
        cases += len(asked)
        texts.append({"id": name, "mentions": len(mentions), "asked": asked})
    return texts, {"score": "chains", "n": len(hits), "cases": cases, "accuracy": np.mean(hits, 0).tolist(),
                   "nearest_mention": float(np.mean(nearest)), "head_match": float(np.mean(match))}


def asked_questions():
    rows = []
    for score in ("gap", "winobias-pro", "winobias-anti"):
        hits, nearest, first, cases = [], [], [], 0
        for kind, text, pronoun, one, two, answer in questions():
            if kind != score:
                continue
            cases += 1
            if two[1] > pronoun[0]:
                continue  # a causal model cannot see the name
            read = Read(text)
            weights = np.stack([read.weight(pronoun, one), read.weight(pronoun, two)])
            hits.append((weights.argmax(0) == answer).tolist())
            first.append(answer == 0)
            nearest.append(answer == int(pronoun[0] - two[1] < pronoun[0] - one[1]))
        rows.append({"score": score, "n": len(hits), "cases": cases, "accuracy": np.mean(hits, 0).tolist(),
                     "nearest_mention": float(np.mean(nearest)), "first_name": float(np.mean(first))})
    return rows


texts, row = chains()
with open(ROOT / "tests/golden/corpus/coreference.json", "w") as out:
    json.dump({"texts": texts, "rows": [row] + asked_questions()}, out)
    out.write("\n")
print(row["n"], row["nearest_mention"], row["head_match"], max(row["accuracy"]))
