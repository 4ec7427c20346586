# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/corpus/conllu.json: what the package `conllu` (PyPI, 6.0) reads from the treebanks of the tests.

    python tests/golden/make_conllu_golden.py [REPOSITORY]
"""
import json
import sys
from pathlib import Path

import conllu

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")


def sentence(tokens):
    words = [t for t in tokens if isinstance(t["id"], int)]
    surfaces = {t["id"][0]: t for t in tokens if isinstance(t["id"], tuple) and t["id"][1] == "-"}
    text = tokens.metadata["text"].encode()
    at, i, spans = 0, 0, []
    while i < len(words):
        token = surfaces.get(words[i]["id"], words[i])
        last = token["id"][2] if isinstance(token["id"], tuple) else token["id"]
        form = token["form"].encode()
        begin = text.index(form, at)
        at = begin + len(form)
        group = [w for w in words if words[i]["id"] <= w["id"] <= last]
        assert "".join(w["form"] for w in group).encode() == form
        for w in group:
            spans.append([begin, begin + len(w["form"].encode())])
            begin = spans[-1][1]
        i += len(group)
    return {
        "id": tokens.metadata["sent_id"],
        "text": tokens.metadata["text"],
        "forms": [w["form"] for w in words],
        "upos": [w["upos"] for w in words],
        "xpos": [w["xpos"] or "" for w in words],
        "heads": [w["head"] - 1 for w in words],
        "relations": [w["deprel"] for w in words],
        "enhanced": [[[head - 1, relation] for relation, head in w["deps"] or [] if isinstance(head, int) and head > 0] for w in words],
        "spans": spans,
    }


def main():
    text = (ROOT / "tests/fixtures/treebank/ewt-excerpt.conllu").read_text(encoding="utf-8")
    sentences = [sentence(tokens) for tokens in conllu.parse(text)]
    target = ROOT / "tests/golden/corpus/conllu.json"
    lines = ",\n".join(json.dumps(s, ensure_ascii=False) for s in sentences)
    target.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
