#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Encoding speed against Hugging Face `tokenizers`: one thread each, the same text, the same machine, by turns.

    python bench/text_tokenizers.py BENCH TEXT TOKENIZER.json [TOKENIZER.json …]

BENCH is build/release/bin/headlight_bench. Each program encodes the text line by line and in one call, again and again; the best
pass of each counts, in processor time, because the machine may be shared. Both have seen the text before by then (both keep a cache
of words).
"""
import json
import os
import subprocess
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
from tokenizers import Tokenizer  # noqa: E402

ROUNDS = 3
SECONDS = 2.0


def best_speed(tokenizer, parts, size):
    best = 0.0
    end = time.perf_counter() + SECONDS
    while best == 0.0 or time.perf_counter() < end:
        start = time.process_time()
        for part in parts:
            tokenizer.encode(part)
        best = max(best, size / 1e6 / (time.process_time() - start))
    return best


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    binary, text_file, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    text = open(text_file, encoding="utf-8", newline="").read()
    size = len(text.encode())
    lines = text.split("\n")
    print(f"{'tokenizer':44} {'mode':6} {'theirs':>8} {'ours':>8} {'ratio':>7}   (MB/s, {size / 1e6:.2f} MB)")
    for file in files:
        theirs = Tokenizer.from_file(file)
        theirs.no_truncation()
        theirs.no_padding()
        best = {"lines": [0.0, 0.0], "whole": [0.0, 0.0]}
        for _ in range(ROUNDS):
            for mode, parts in (("lines", lines), ("whole", [text])):
                best[mode][0] = max(best[mode][0], best_speed(theirs, parts, size))
            done = subprocess.run([binary, "tokenizer", "--model", file, "--text-file", text_file, "--repeats", "15", "--json"],
                                  capture_output=True, check=True, text=True)
            for row in json.loads(done.stdout)["results"]:
                if row["unit"] == "MB/s":
                    mode = "lines" if "by lines" in row["what"] else "whole"
                    best[mode][1] = max(best[mode][1], row["value"])
        for mode, (a, b) in best.items():
            print(f"{os.path.basename(os.path.dirname(os.path.abspath(file)))[:44]:44} {mode:6} {a:8.2f} {b:8.2f} {b / a:6.1f}x")


if __name__ == "__main__":
    main()
