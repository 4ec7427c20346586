# SPDX-License-Identifier: GPL-3.0-or-later
"""The same pass in Headlight, Hugging Face transformers and TransformerLens, in turns on this machine.

    python bench/compare.py --bench build/release/bin/headlight_bench --folder FOLDER [--tokens 512 1024] [--rounds 5]

`headlight_bench --write-model FOLDER` makes FOLDER. Each program returns everything its own way: Headlight a trace of every hook,
once with its overview (pooled maps and numbers of all heads, which the others do not make) and once without,
transformers all attentions and hidden states (eager attention), TransformerLens run_with_cache.
All use the same number of threads; the median over the rounds counts. Prints a line a length, or JSON with --json.
"""
import argparse
import importlib.metadata
import json
import statistics
import subprocess
import sys
import time

import torch
import transformers
from transformer_lens.model_bridge import TransformerBridge


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 1024])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def headlight_pass(args, tokens):
    """Milliseconds of a traced pass, of one without the overview, and the share of the matrix product taken in the same turns."""
    command = [args.bench, "forward", "--model", args.folder, "--tokens", str(tokens), "--repeats", "3",
               "--json"]
    results = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["results"]
    by_name = {(r["what"], r["unit"]): r["value"] for r in results}
    return (by_name["traced pass", "ms"], by_name["every hook, no overview", "ms"],
            by_name["share of matrix product", ""])


def transformers_pass(folder):
    model = transformers.GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager").eval()

    def run(ids):
        return model(ids, output_attentions=True, output_hidden_states=True, use_cache=False)

    return run


def lens_pass(folder):
    return TransformerBridge.boot_transformers(folder, device="cpu").eval().run_with_cache


def milliseconds(run, ids):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        results = run(ids)
        times.append((time.perf_counter() - start) * 1e3)
        del results
    return statistics.median(times)


@torch.no_grad()
def compare(args, tokens, others):
    ids = torch.randint(1, 50000, (1, tokens), generator=torch.Generator().manual_seed(tokens))
    times = {name: [] for name in ["headlight", "hooks", *others]}
    shares = []
    for run in others.values():
        run(ids)
    for _ in range(args.rounds):
        own, hooks, share = headlight_pass(args, tokens)
        times["headlight"].append(own)
        times["hooks"].append(hooks)
        shares.append(share)
        for name, run in others.items():
            times[name].append(milliseconds(run, ids))
    medians = {name: statistics.median(t) for name, t in times.items()}
    ratios = {own: {name: medians[name] / medians[own] for name in others} for own in ("headlight", "hooks")}
    return {"tokens": tokens, "ms": medians, "share_of_matrix_product": statistics.median(shares), "ratio": ratios}


def main():
    args = arguments()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(args.threads)
    others = {"transformers": transformers_pass(args.folder), "transformer_lens": lens_pass(args.folder)}
    results = [compare(args, tokens, others) for tokens in args.tokens]
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "transformer_lens")}
    if args.json:
        json.dump({"versions": versions, "passes": results}, sys.stdout, indent=1)
        return
    for r in results:
        print(r["tokens"], "tokens:", ", ".join(f"{name} {ms:,.0f} ms" for name, ms in r["ms"].items()))
        for own, what in (("hooks", "every hook, no overview"), ("headlight", "with overview")):
            print("   times as fast,", what + ":", ", ".join(f"{name} {x:.2f}" for name, x in r["ratio"][own].items()))


if __name__ == "__main__":
    main()
