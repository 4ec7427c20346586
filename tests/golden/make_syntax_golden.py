# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/corpus/syntax.json: what heads of the built-in model do with the syntax of the tests' treebank, from Hugging
Face transformers (float32, eager attention), the package `conllu` and NumPy alone.

    python tests/golden/make_syntax_golden.py [REPOSITORY]

Definitions: include/headlight/corpus/syntax/*.h.
"""
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
MODEL = ROOT / "models/novella-7m"
TAGS = ["ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB",
        "X", "none", "first", "special"]
MASK = (1 << 64) - 1
SOME = {"all", "nsubj", "nsubj:xsubj", "nsubj:pass", "obj", "conj", "conj:and", "nmod:poss"}  # relations of DEPS


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def in_half_b(sentence_id):
    value = 0xCBF29CE484222325
    for byte in sentence_id.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    step = 0x9E3779B97F4A7C15
    value = mix((value + step) & MASK)
    value = mix((value + step) & MASK)
    return mix((value + step) & MASK) & 1


def overlaps(a, b):
    return a[0] < b[1] and b[0] < a[1]


class Sentence:
    def __init__(self, golden, tokenizer, model):
        encoding = tokenizer.encode(golden["text"])
        starts = np.cumsum([0] + [len(c.encode()) for c in golden["text"]])
        self.golden = golden
        self.n = len(golden["forms"])
        special = encoding.special_tokens_mask
        spans = [None if s else (starts[a], starts[b]) for s, (a, b) in zip(special, encoding.offsets)]
        self.special = special
        self.words = [[] if s is None else [w for w, span in enumerate(golden["spans"]) if overlaps(s, span)] for s in spans]
        self.share = np.zeros((len(spans), self.n))  # [token, word]: of what the token receives
        for t, words in enumerate(self.words):
            for w in words:
                self.share[t, w] = 1 / len(words)
        member = (self.share > 0).astype(float)
        self.mean = member / np.maximum(1, member.sum(0))  # [token, word]: rows
        with torch.no_grad():
            out = model(torch.tensor([encoding.ids]), output_attentions=True)
        self.patterns = np.stack([a[0].numpy().astype(np.float64) for a in out.attentions])  # [layer, head, token, token]

    def word_attention(self):
        return np.einsum("qi,lhqk,kj->lhij", self.mean, self.patterns, self.share, optimize=True)

    def tags(self):
        weights = np.zeros((len(self.words), len(TAGS)))
        for t, words in enumerate(self.words):
            if t == 0:
                weights[t, TAGS.index("first")] = 1
            elif self.special[t]:
                weights[t, TAGS.index("special")] = 1
            elif not words:
                weights[t, TAGS.index("none")] = 1
            for w in words:
                tag = self.golden["upos"][w]
                if t > 0:
                    weights[t, TAGS.index(tag if tag in TAGS[:17] else "none")] += 1 / len(words)
        return weights

    def dependencies(self):
        linked = np.zeros((len(self.words), len(self.words)))
        heads = self.golden["heads"]
        for q, a in enumerate(self.words):
            for k, b in enumerate(self.words):
                linked[q, k] = q != k and any(heads[i] == j or heads[j] == i for i in a for j in b)
        return linked


def cases(sentence, enhanced):
    """(word, {relation, or all: heads}): one head, or those of DEPS."""
    for w in range(sentence.n):
        of_word = defaultdict(set)
        arcs = sentence.golden["enhanced"][w] if enhanced else [[sentence.golden["heads"][w], sentence.golden["relations"][w]]]
        for head, relation in arcs:
            if head >= 0:
                for name in {"all", relation, relation.split(":")[0]}:
                    of_word[name].add(head)
        yield w, of_word


def relations(sentences, enhanced=False):
    """relation -> direction -> [(sentence, word, heads, predicted words [layer, head])]"""
    arcs = defaultdict(lambda: {"to_head": [], "to_dependent": []})
    totals = defaultdict(int)
    for s, sentence in enumerate(sentences):
        attention = sentence.word_attention()
        for i in range(sentence.n):
            attention[:, :, i, i] = 0
        to, best_to = attention.argmax(3), attention.max(3)
        by, best_by = attention.argmax(2), attention.max(2)
        to[best_to == 0] = -1
        by[best_by == 0] = -1
        for w, of_word in cases(sentence, enhanced):
            for name, heads in of_word.items():
                totals[name] += 1
                if min(heads) < w:
                    arcs[name]["to_head"].append((s, w, heads, to[:, :, w]))
                if max(heads) > w:
                    arcs[name]["to_dependent"].append((s, w, heads, by[:, :, w]))
    rows = []
    for name in sorted(totals):
        for direction, found in arcs[name].items():
            row = {"relation": name, "direction": direction, "arcs": totals[name], "n": len(found)}
            rows.append(row)
            if not found:
                continue
            hits = np.array([np.isin(predicted, list(heads)) for _, _, heads, predicted in found], dtype=float)  # [arc, layer, head]
            half_b = np.array([in_half_b(sentences[s].golden["id"]) for s, _, _, _ in found], dtype=bool)
            offsets = sorted((o for o in range(-6, 7) if o), key=lambda o: (abs(o), o))
            scores = [np.mean([min(max(w + o, 0), sentences[s].n - 1) in heads for s, w, heads, _ in found]) for o in offsets]
            row["offset"] = offsets[int(np.argmax(scores))]
            row["baseline"] = max(scores)
            chosen = hits[~half_b] if (~half_b).any() else hits
            best = int(chosen.mean(0).argmax())
            row["head"] = [best // hits.shape[2], best % hits.shape[2]]
            row["selection_n"] = int((~half_b).sum())
            if half_b.all():
                half_b[:] = False  # the head is chosen on all arcs, so none is left to measure it on
            row["held_out_n"] = int(half_b.sum())
            row["accuracies"] = hits.mean(0).ravel().tolist()
            row["held_out"] = hits[half_b].mean(0).ravel()[best] if half_b.any() else None
    return rows


def tag_shares(sentences):
    mass = base = rows = 0
    for sentence in sentences:
        weights = sentence.tags()
        tokens = len(weights)
        even = np.tril(np.ones((tokens, tokens)))
        even /= even.sum(1, keepdims=True)
        mass = mass + np.einsum("qa,lhqk,kb->lhab", weights[1:], sentence.patterns[:, :, 1:], weights, optimize=True)
        base = base + weights[1:].T @ even[1:] @ weights
        rows = rows + weights[1:].sum(0)
    return mass, base, rows


def tag_texts(sentences, layer, head):
    """Sums and weights of each text, of one head, for shares in both directions and of a pair."""
    out = []
    off_first = [i for i, tag in enumerate(TAGS) if tag != "first"]
    for source, target in [("all", "NOUN"), ("all", "first"), ("VERB", "all"), ("VERB", "PRON")]:
        sums, weights = [], []
        for sentence in sentences:
            tags = sentence.tags()
            mass = np.einsum("qa,qk,kb->ab", tags[1:], sentence.patterns[layer, head, 1:], tags, optimize=True)
            rows = tags[1:].sum(0)
            from_tags = range(len(TAGS)) if source == "all" else [TAGS.index(source)]
            to_tags = off_first if target == "all" else [TAGS.index(target)]
            sums.append(mass[np.ix_(list(from_tags), list(to_tags))].sum())
            weights.append(mass[:, off_first].sum() if target == "all" else rows[list(from_tags)].sum())
        out.append({"from": source, "to": target, "sums": np.array(sums).tolist(), "weights": np.array(weights).tolist()})
    return out


def alignment_texts(sentences, layer, head):
    parts = {"along": [], "distance": [], "off_first": []}
    for sentence in sentences:
        pattern = sentence.patterns[layer, head, 1:, 1:]
        tokens = len(sentence.words)
        apart = np.abs(np.arange(tokens)[:, None] - np.arange(tokens))[1:, 1:]
        parts["along"].append(float((pattern * sentence.dependencies()[1:, 1:]).sum()))
        parts["distance"].append(float((pattern * apart).sum()))
        parts["off_first"].append(float(pattern.sum()))
    return parts


def alignment(sentences):
    along = mass = distance = even = rows = 0
    for sentence in sentences:
        linked = sentence.dependencies()
        tokens = len(linked)
        patterns = sentence.patterns[:, :, 1:, 1:]  # neither the first row nor the first column
        apart = np.abs(np.arange(tokens)[:, None] - np.arange(tokens))[1:, 1:]
        along = along + (patterns * linked[1:, 1:]).sum((2, 3))
        mass = mass + patterns.sum((2, 3))
        distance = distance + (patterns * apart).sum((2, 3))
        legal = np.tril(np.ones((tokens - 1, tokens - 1)))
        even = even + ((legal * linked[1:, 1:]).sum(1) / legal.sum(1)).sum()
        rows += tokens - 1
    return along / mass, distance / mass, even / rows


def main():
    golden = json.loads((ROOT / "tests/golden/corpus/conllu.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    model = AutoModel.from_pretrained(MODEL, torch_dtype=torch.float32, attn_implementation="eager").eval()
    sentences = [Sentence(g, tokenizer, model) for g in golden]
    mass, base, rows = tag_shares(sentences)
    aligned, distance, even = alignment(sentences)

    def rounded(values):
        return json.loads(json.dumps(values), parse_float=lambda x: float(f"{float(x):.9g}"))

    out = {
        "shared_tokens": sum(len(w) > 1 for s in sentences for w in s.words),
        "relations": rounded(relations(sentences)),
        "enhanced": rounded([r for r in relations(sentences, enhanced=True) if r["relation"] in SOME]),
        "tags": TAGS,
        "tag_mass": rounded(mass.reshape(-1, len(TAGS), len(TAGS))[::7].tolist()),  # every seventh head
        "tag_base": rounded(base.tolist()),
        "tag_rows": rounded(rows.tolist()),
        "alignment": rounded(aligned.ravel().tolist()),
        "distance": rounded(distance.ravel().tolist()),
        "alignment_even": rounded(float(even)),
        "tag_texts": rounded(tag_texts(sentences, 2, 1)),
        "alignment_texts": rounded(alignment_texts(sentences, 2, 1)),
    }
    (ROOT / "tests/golden/corpus/syntax.json").write_text(json.dumps(out) + "\n", encoding="utf-8")
    best = [r for r in out["relations"] if r["n"] > 30]
    for r in best:
        h = r["head"]
        print(r["relation"], r["direction"], f"L{h[0]}H{h[1]}", r["n"], r["arcs"], r["accuracies"][h[0] * 8 + h[1]], r["baseline"], r["offset"])


if __name__ == "__main__":
    main()
