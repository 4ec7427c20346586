# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/corpus/coreference.json: what heads of the built-in model do at the mentions of tests/fixtures/coreference, from
Hugging Face transformers (float32, eager attention) and NumPy alone, with readers of its own (mentions.py).

    python tests/golden/make_coreference_golden.py [REPOSITORY]
"""
import json
import sys
from pathlib import Path

import numpy as np
from mentions import Reference, chain_cases, documents, gap, question_case, winobias

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
FILES = ROOT / "tests/fixtures/coreference"
PEOPLE = ["developer", "designer", "guard", "nurse", "cook", "clerk", "manager", "secretary"]

reference = Reference(ROOT / "models/novella-7m")
texts, of_chains, cases = [], [], 0
for document in documents(FILES / "documents.conllu"):
    asked, count = chain_cases(reference, document)
    of_chains += asked
    cases += count
    texts.append({"id": document[0], "mentions": len(document[2]),
                  "asked": [{"mention": a["mention"], "to": a["to"], "weights": a["weights"].round(7).tolist()} for a in asked]})
mean = lambda name, found: np.mean([f[name] for f in found], 0).tolist()
rows = [{"score": "chains", "n": len(of_chains), "cases": cases, "accuracy": mean("hits", of_chains),
         "nearest_mention": mean("nearest", of_chains), "head_match": mean("match", of_chains)}]
questions = list(gap(FILES / "gap.tsv"))
for kind in ("pro", "anti"):
    questions += winobias(FILES / f"{kind}_stereotyped.txt", PEOPLE)
for score in ("gap", "winobias-pro", "winobias-anti"):
    of_score = [q for q in questions if q[0] == score and q[-1] is not None]
    found = [case for case in (question_case(reference, q) for q in of_score) if case]
    rows.append({"score": score, "n": len(found), "cases": len(of_score), "accuracy": mean("hits", found),
                 "nearest_mention": mean("nearest", found), "first_name": mean("first", found)})
with open(ROOT / "tests/golden/corpus/coreference.json", "w") as out:
    json.dump({"texts": texts, "rows": rows}, out)
    out.write("\n")
print(rows[0]["n"], rows[0]["nearest_mention"], rows[0]["head_match"], max(rows[0]["accuracy"]))
