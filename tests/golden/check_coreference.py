# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the CSV of `headlight corpus coref` over real files (CorefUD, GAP, WinoBias; not part of this repository) with
transformers and NumPy (mentions.py). Prints the largest difference of each column in cases, and intervals of a bootstrap of its own.

    python tests/golden/check_coreference.py coref.csv FILE... [--context N] [--people male_occupations.txt female_occupations.txt]
"""
import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from mentions import Reference, chain_cases, documents, gap, question_case, winobias

parser = argparse.ArgumentParser()
parser.add_argument("csv")
parser.add_argument("files", nargs="+")
parser.add_argument("--context", type=int, default=512)
parser.add_argument("--people", nargs="*", default=[])
arguments = parser.parse_args()
lists = [[line.strip().lower() for line in Path(file).read_text().splitlines() if line.strip()] for file in arguments.people]
people = sum(lists, [])
reference = Reference(Path(__file__).parents[2] / "models/novella-7m", arguments.context)

found, cases = defaultdict(lambda: defaultdict(list)), defaultdict(int)  # [score][unit], [score]
for file in arguments.files:
    name = Path(file).name
    if name.endswith(".conllu"):
        for document in documents(file):
            asked, count = chain_cases(reference, document)
            found["chains"][document[0]] += asked
            cases["chains"] += count
        continue
    for question in gap(file) if name.endswith(".tsv") else winobias(file, people):
        cases[question[0]] += question[-1] is not None
        if case := question_case(reference, question):
            if question[0].startswith("winobias"):
                case["male_first"] = question[2][slice(*question[4])].lower().endswith(tuple(lists[0]))
            found[question[0]][question[1]].append(case)

rows = defaultdict(list)
for row in csv.DictReader(line for line in open(arguments.csv) if not line.startswith("#")):
    rows[row["score"]].append(row)
random = np.random.default_rng(1)


def interval(values):
    return "%.4f [%.4f, %.4f]" % (np.mean(values), *np.quantile(values, [0.025, 0.975]))


def sums(units, of):
    """hits [unit, head], n [unit]"""
    hits = np.array([np.sum([c["hits"] for c in of[u]], 0) if of[u] else np.zeros(len(theirs)) for u in units], float)
    return hits, np.array([len(of[u]) for u in units], float)


for score, of in found.items():
    theirs = rows[score]
    flat = [case for unit in of.values() for case in unit]
    n = len(flat)
    print(score, "n", n, theirs[0]["n"], "cases", cases[score], theirs[0]["cases"])
    hits = np.sum([c["hits"] for c in flat], 0)
    differ = np.abs(hits - np.array([float(r["accuracy"]) for r in theirs]) * n)
    print("  accuracy differs by at most", differ.max().round(3), "cases of", n)
    for column, name in (("nearest_mention", "nearest"), ("head_match", "match"), ("first_name", "first")):
        if name in flat[0]:
            print(" ", column, np.mean([c[name] for c in flat]).round(6), theirs[0][column])
    best = next(i for i, r in enumerate(theirs) if r["best"] == "1")
    units = list(of)
    of_unit, n_unit = sums(units, of)
    drawn = random.multinomial(len(units), np.full(len(units), 1 / len(units)), 2000)
    r = theirs[best]
    print("  best L%sH%s %.4f" % (r["layer"], r["head"], hits[best] / n), interval(drawn @ of_unit[:, best] / (drawn @ n_unit)),
          "theirs", r["accuracy"], r["low"], r["high"])
if rows["winobias-difference"]:
    theirs, pro, anti = rows["winobias-difference"], found["winobias-pro"], found["winobias-anti"]
    units = [u for u in pro if pro[u] and anti[u]]
    (pro_hits, pro_n), (anti_hits, anti_n) = sums(units, pro), sums(units, anti)
    print("winobias-difference pairs", len(units), theirs[0]["n"])
    difference = pro_hits.sum(0) / pro_n.sum() - anti_hits.sum(0) / anti_n.sum()
    print("  differs by at most", np.abs(difference - [float(r["accuracy"]) for r in theirs]).max().round(6))
    drawn = random.multinomial(len(units), np.full(len(units), 1 / len(units)), 2000)
    low, high = np.quantile((drawn @ pro_hits) / (drawn @ pro_n)[:, None] - (drawn @ anti_hits) / (drawn @ anti_n)[:, None],
                            [0.025, 0.975], axis=0)
    print("  ends of the intervals differ by at most",
          max(np.abs(low - [float(r["low"]) for r in theirs]).max(), np.abs(high - [float(r["high"]) for r in theirs]).max()).round(4))
    print("  intervals without 0: here", ((low > 0) | (high < 0)).sum(), "theirs",
          sum(float(r["low"]) > 0 or float(r["high"]) < 0 for r in theirs), "of", len(theirs))
    # A head whose choice depends on the pronoun and the order alone has differences of opposite signs in the two orders.
    male_first = np.array([pro[u][0]["male_first"] for u in units])
    print("  the occupation with the male stereotype stands first in %d of %d pairs" % (male_first.sum(), len(units)))
    for head in np.argsort(-np.abs(difference))[:4]:
        parts = [(pro_hits[which].sum(0) / pro_n[which].sum() - anti_hits[which].sum(0) / anti_n[which].sum())[head]
                 for which in (male_first, ~male_first)]
        print("  L%sH%s difference %.3f: %.3f where it stands first, %.3f where it stands second"
              % (theirs[head]["layer"], theirs[head]["head"], difference[head], *parts))
