# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns what run_all measured into Markdown; --into FILE puts it between that file's two "results" comments."""
import argparse
import datetime
import json
import os
import pathlib
import platform

BEGIN, END = "<!-- results: written by bench/run_all -->", "<!-- end of results -->"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def own_tables(measured):
    value = {(r["benchmark"], r["tokens"], r["what"], r["unit"]): r["value"] for r in measured}
    lengths = sorted({r["tokens"] for r in measured if r["benchmark"] == "forward"})
    yield "| tokens | traced pass | GFLOP/s | matrix product | share |"
    yield "|---|---|---|---|---|"
    for n in lengths:
        yield (f"| {n:,} | {value['forward', n, 'traced pass', 'ms']:,.0f} ms "
               f"| {value['forward', n, 'traced pass', 'GFLOP/s']:.0f} "
               f"| {value['forward', n, 'matrix product', 'GFLOP/s']:.0f} "
               f"| {100 * value['forward', n, 'share of matrix product', '']:.1f} % |")
    yield ""
    yield "| tokens | trace of every hook | a token |"
    yield "|---|---|---|"
    for r in measured:
        if r["benchmark"] == "memory":
            yield f"| {r['tokens']:,} | {r['value']:,.0f} MB | {r['value'] / r['tokens'] * 1000:,.0f} kB |"
    yield ""
    folder, tokenizer = (value["load", 0, what, "ms"] for what in ("model folder", "tokenizer"))
    yield f"Opening the folder (500 MB, warm file cache): {folder:.0f} ms, its tokenizer {tokenizer:.0f} ms."


def comparison(others):
    yield ""
    yield ("| tokens | Headlight, every hook | and overview | Hugging Face transformers | TransformerLens "
           "| every hook: times as fast | and overview |")
    yield "|---|---|---|---|---|---|---|"
    for r in others["passes"]:
        ms, ratio = r["ms"], r["ratio"]
        yield (f"| {r['tokens']:,} | {ms['hooks']:,.0f} ms | {ms['headlight']:,.0f} ms | {ms['transformers']:,.0f} ms "
               f"| {ms['transformer_lens']:,.0f} ms | " +
               " | ".join(f"{x['transformers']:.2f} and {x['transformer_lens']:.2f}"
                          for x in (ratio["hooks"], ratio["headlight"])) + " |")
    yield ""
    yield "Compared with: " + ", ".join(f"{name} {version}" for name, version in others["versions"].items()) + "."


def report(results):
    own = json.loads((results / "own.json").read_text())
    cores = len(os.sched_getaffinity(0))
    yield f"Measured {datetime.date.today().isoformat()} on {processor()}, {cores} cores, {platform.system()}."
    yield ""
    yield from own_tables(own["results"])
    others = results / "others.json"
    if others.exists():
        yield from comparison(json.loads(others.read_text()))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    args = parser.parse_args()
    text = "\n".join(report(args.results))
    if not args.into:
        print(text)
        return
    page = args.into.read_text()
    head, tail = page.split(BEGIN)[0], page.split(END)[1]
    args.into.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}")


if __name__ == "__main__":
    main()
