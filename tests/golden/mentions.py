# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers of texts with mentions of entities, and what heads do at them by transformers and NumPy alone: the reference for
src/corpus/coreference (definitions: include/headlight/corpus/coreference/*.h). Spans are characters of the text."""
import csv
import re
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

PRONOUNS = "he him his himself she her hers herself".split()


def documents(path):
    """(id, text, mentions) of a CorefUD file; a mention is (chain, begin, end, head begin, head end)."""
    out, names = [], None
    for block in re.split(r"\n\s*\n", Path(path).read_text(encoding="utf-8").strip()):
        comments = [line for line in block.split("\n") if line.startswith("#")]
        names = next((c.split("=")[1].strip().split("-") for c in comments if c.startswith("# global.Entity")), names)
        new = next((c.split("=")[1].strip() for c in comments if c.startswith("# newdoc id")), None)
        if new:
            out.append([new, "", [], [], [], True])  # id, text, words, open mentions, mentions, space before the next sentence
        name, text, words, opened, found, space = out[-1]
        if text:
            text += "\n" if any(c.startswith("# newpar") for c in comments) else " " * space
        first, at = len(words), len(text)
        text += next(c for c in comments if c.startswith("# text = "))[len("# text = "):]
        inside, row_of = (0, 0, 0), {}
        for line in block.split("\n"):
            columns = line.split("\t")
            if len(columns) < 10 or "." in columns[0]:
                continue
            space = "SpaceAfter=No" not in columns[9]
            if "-" in columns[0]:  # its words have its characters, one after the other, or all of them
                begin = text.index(columns[1], at)
                inside = (*map(int, columns[0].split("-")), begin)
                whole = (begin, begin + len(columns[1]))
                at = begin
                continue
            number = int(columns[0])
            if inside[0] <= number <= inside[1] and not text.startswith(columns[1], at):
                span = whole
            else:
                begin = text.index(columns[1], at)
                span = (begin, begin + len(columns[1]))
                at = span[1]
            row_of[number] = len(words)
            words.append([span, int(columns[6])])
            entity = re.search(r"(?:^|\|)Entity=([^|]*)", columns[9])
            for item in re.findall(r"\([^()]*\)?|[^()]+\)", entity.group(1)) if entity else []:
                values = item.strip("()").split("-")
                chain = values[0] if len(values) == 1 else values[next(i for i, n in enumerate(names) if n in ("eid", "GRP"))]
                if item.startswith("("):
                    opened.append((chain, len(words) - 1, values[names.index("head")] if "head" in names else None))
                if item.endswith(")"):
                    mention = next(m for m in reversed(opened) if m[0] == chain)
                    opened.remove(mention)
                    found.append((*mention, len(words)))
        for word in words[first:]:
            word[1] = row_of[word[1]] if word[1] else None
        out[-1] = [name, text, words, opened, found, space]
    result = []
    for name, text, words, _, found, _ in out:
        mentions = []
        for chain, first, head, end in found:
            # Without the field the head is the first word whose own head is outside.
            at = first + int(head) - 1 if head else next(
                w for w in range(first, end) if words[w][1] is None or not first <= words[w][1] < end)
            mentions.append((chain, words[first][0][0], words[end - 1][0][1], *words[at][0]))
        result.append((name, text, sorted(mentions, key=lambda m: (m[3], m[1], -m[2], m[0]))))
    return result


def gap(path):
    """(score, unit, text, pronoun, first name, second name, answer): spans, and 0 or 1; None: neither."""
    for row in csv.DictReader(open(path, newline="", encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE):
        span = lambda name: (int(row[name + "-offset"]), int(row[name + "-offset"]) + len(row[name]))
        names = sorted([(span("A"), row["A-coref"]), (span("B"), row["B-coref"])])
        answer = next((i for i, (_, value) in enumerate(names) if value.upper() == "TRUE"), None)
        yield "gap", row["ID"], row["Text"], span("Pronoun"), names[0][0], names[1][0], answer


def winobias(path, people):
    """The same of a file of WinoBias; `people`: the occupations."""
    path = Path(path)
    score = "winobias-anti" if "anti_" in path.name else "winobias-pro"
    unit = path.name.replace("anti_", "").replace("pro_", "")
    person = re.compile(r"\b(?:the |an? )?(?:" + "|".join(sorted(people, key=len, reverse=True)) + r")\b", re.I)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        marked = line.split(" ", 1)[1].strip()
        text, spans = "", []
        for piece in re.split(r"(\[.*?\])", marked):
            if piece.startswith("["):
                inner = piece[1:-1]
                begin = len(text) + len(inner) - len(inner.lstrip())
                spans.append((begin, begin + len(inner.strip())))
                piece = inner
            text += piece
        pronoun = next(s for s in spans if text[slice(*s)].lower() in PRONOUNS)
        named = next(s for s in spans if text[slice(*s)].lower() not in PRONOUNS)
        other = next(m.span() for m in person.finditer(text) if m.end() <= named[0] or m.start() >= named[1])
        first, second = sorted([named, other])
        yield score, f"{unit}:{number}", text, pronoun, first, second, int(second == named)


class Reference:
    """Patterns of texts, whole or in chunks of `context` tokens that begin with the template's special tokens."""

    def __init__(self, folder, context=512):
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        self.context = context

    def chunks(self, text):
        """[(spans by token, patterns [layer, head, token, token])]"""
        encoding = self.tokenizer.encode(text)
        front = encoding.special_tokens_mask.index(0)
        assert not any(encoding.special_tokens_mask[front:])
        ids, offsets, room = encoding.ids[front:], encoding.offsets[front:], self.context - front
        for start in range(0, len(ids), room):
            part = encoding.ids[:front] + ids[start:start + room]
            with torch.no_grad():
                out = self.model(torch.tensor([part]), output_attentions=True)
            yield ([None] * front + offsets[start:start + room],
                   np.stack([a[0].numpy().astype(np.float64) for a in out.attentions]))


def tokens_of(spans, begin, end):
    """Of a chunk; none where it holds only a part of the span."""
    found = [t for t, s in enumerate(spans) if s and s[0] < end and begin < s[1]]
    if not found or spans[found[0]][0] > begin or max(spans[t][1] for t in found) < end:
        return []
    return found


def weight(patterns, rows, columns, sharing=None):
    """[layer * head]: columns summed, each divided by the heads that share it; rows averaged."""
    part = patterns[:, :, rows][:, :, :, columns]
    return (part if sharing is None else part / sharing[columns]).sum(3).mean(2).ravel()


def chain_cases(reference, document):
    """Asked mentions: {mention, to, weights, hits, nearest, match}, in the order of the chunks; and the number of cases."""
    _, text, mentions = document
    asked, seen, cases = [], {}, 0
    for chain, _, _, head, _ in mentions:
        cases += seen.setdefault(chain, head) < head
    for spans, patterns in reference.chunks(text):
        here = [(m, tokens_of(spans, *mention[3:])) for m, mention in enumerate(mentions)]
        here = [(m, tokens) for m, tokens in here if tokens]
        sharing = np.zeros(len(spans))
        for tokens in {mentions[m][3:]: tokens for m, tokens in here}.values():
            sharing[tokens] += 1
        for m, tokens in here:
            chain, begin, end = mentions[m][0], *mentions[m][3:]
            earlier = [(c, t) for c, t in here if mentions[c][3] < begin]
            if all(mentions[c][0] != chain for c, _ in earlier):
                continue
            weights = np.array([weight(patterns, tokens, t, sharing) for _, t in earlier])  # [candidate, head]
            order = np.array([c for c, _ in earlier])
            chosen = np.where(weights.max(0) > 0, order[weights.argmax(0)], -1)
            heads_of_chain = {mentions[o][3:] for o, _ in here if mentions[o][0] == chain}
            right = lambda c: c >= 0 and mentions[c][3:] in heads_of_chain
            same = [c for c, _ in earlier if text[slice(*mentions[c][3:])].lower() == text[begin:end].lower()]
            asked.append({"mention": m, "to": chosen.tolist(), "weights": weights.max(0), "hits": [right(c) for c in chosen],
                          "nearest": right(earlier[-1][0]), "match": bool(same) and right(same[-1])})
    return asked, cases


def question_case(reference, question, causal=True):
    """{hits, nearest, first} of a question; None: it cannot be asked."""
    _, _, text, pronoun, first, second, answer = question
    if answer is None or (causal and max(first[1], second[1]) > pronoun[0]):
        return None
    (spans, patterns), *more = reference.chunks(text)
    parts = [tokens_of(spans, *span) for span in (pronoun, first, second)]
    if not all(parts):
        return None
    one, two = (weight(patterns, parts[0], part) for part in parts[1:])
    gap_to = lambda name: pronoun[0] - name[1] if name[0] < pronoun[0] else name[0] - pronoun[1]
    return {"hits": ((two > one).astype(int) == answer) & (one != two), "first": answer == 0,
            "nearest": answer == int(gap_to(second) < gap_to(first))}
