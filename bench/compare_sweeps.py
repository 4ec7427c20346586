# SPDX-License-Identifier: GPL-3.0-or-later
"""The same sweeps in Headlight and in TransformerLens' patching.py, in turns on this machine.

    python bench/compare_sweeps.py --program build/release/bin/headlight --folder FOLDER [--rounds 3] [--first 10] [--tokens 15]

`headlight_bench --write-model FOLDER` makes FOLDER, a random model of GPT-2 small's shape. Texts of --tokens tokens whose first
difference is at position --first (10 is where TransformerLens' indirect-object example differs; 1 is the worst case). Headlight's
time is the one it reports of the sweep, without loading; TransformerLens' is that of the patching function, without the clean run.
Prints a line a sweep: seconds of both, their ratio, and the largest difference of the two results over the largest effect.
"""
import argparse
import contextlib
import io
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time

import torch
import transformers

if not hasattr(transformers, "TRANSFORMERS_CACHE"):
    transformers.TRANSFORMERS_CACHE = ""  # TransformerLens 2 reads it, transformers 5 lacks it
from transformer_lens import patching

def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lens-threads", type=int, default=0, help="TransformerLens' own number, 0: the same")
    parser.add_argument("--skip-lens", action="store_true", help="only Headlight: a pass of TransformerLens costs the same in any sweep")
    parser.add_argument("--first", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=15)
    parser.add_argument("--pairs", type=int, default=32)
    parser.add_argument("--skip-pairs", action="store_true")
    parser.add_argument("--sweeps", nargs="+", default=["heads", "layer x position", "head x position"])
    return parser.parse_args()


def make_pairs(count, first, tokens):
    random.seed(5)
    pairs = []
    for _ in range(count):
        clean = [random.randrange(1, 50000) for _ in range(tokens)]
        corrupt = list(clean)
        corrupt[first] = random.randrange(1, 50000)
        pairs.append((clean, corrupt, random.randrange(1, 50000), random.randrange(1, 50000)))
    return pairs


def text(ids):
    return " ".join(f"w{i}" for i in ids)


def headlight(args, site, pairs, folder):
    file, out = os.path.join(folder, "pairs.jsonl"), os.path.join(folder, "out.json")
    with open(file, "w") as stream:
        for clean, corrupt, right, wrong in pairs:
            line = {"clean": text(clean), "corrupt": text(corrupt), "answer": f"w{right}", "wrong": f"w{wrong}"}
            stream.write(json.dumps(line) + "\n")
    command = [args.program, "sweep", args.folder, "--pairs", file, "--site", site, "--threads", str(args.threads), "--out", out]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    result = json.load(open(out))
    value = result["columns"].index("effect")
    return float(re.search(r"swept in ([0-9.]+) s", said)[1]), torch.tensor([row[value] for row in result["rows"]])


def lens_model(folder):
    try:  # version 2 and 3
        from transformer_lens import HookedTransformer, HookedTransformerConfig
        from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights
    except ImportError:
        from transformer_lens.model_bridge import TransformerBridge

        return TransformerBridge.boot_transformers(folder, device="cpu").eval()
    from transformers import AutoModelForCausalLM

    hf = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    c = hf.config
    cfg = HookedTransformerConfig(n_layers=c.n_layer, d_model=c.n_embd, n_heads=c.n_head, d_head=c.n_embd // c.n_head,
                                  d_mlp=4 * c.n_embd, act_fn="gelu_new", eps=c.layer_norm_epsilon, normalization_type="LN",
                                  n_ctx=c.n_positions, d_vocab=c.vocab_size, device="cpu")
    model = HookedTransformer(cfg)
    model.load_state_dict(convert_gpt2_weights(hf, cfg), strict=False)
    return model.eval()


def lens(model, patch, pairs):
    spent, effects = 0.0, None
    for clean, corrupt, right, wrong in pairs:
        metric = lambda logits: logits[0, -1, right] - logits[0, -1, wrong]
        with torch.no_grad(), contextlib.redirect_stderr(io.StringIO()):
            _, cache = model.run_with_cache(torch.tensor([clean]))
            unpatched = metric(model(torch.tensor([corrupt])))
            start = time.perf_counter()
            found = patch(model, torch.tensor([corrupt]), cache, metric) - unpatched
            spent += time.perf_counter() - start
        effects = found.flatten() if effects is None else effects + found.flatten()
    return spent, effects / len(pairs)


def main():
    args = arguments()
    torch.set_num_threads(args.lens_threads or args.threads)
    model = None if args.skip_lens else lens_model(args.folder)
    every = {"heads": ("z", patching.get_act_patch_attn_head_out_all_pos),
             "layer x position": ("resid_pre", patching.get_act_patch_resid_pre),
             "head x position": ("z_by_position", patching.get_act_patch_attn_head_out_by_pos)}
    cases = [(name, *every[name], 1) for name in args.sweeps]
    if not args.skip_pairs:
        cases.append((f"{args.pairs} pairs, heads", *every["heads"], args.pairs))
    for name, site, patch, count in cases:
        pairs = make_pairs(count, args.first, args.tokens)
        ours, theirs, off = [], [], 0.0
        for _ in range(args.rounds):
            with tempfile.TemporaryDirectory() as folder:
                seconds, effects = headlight(args, site, pairs, folder)
            ours.append(seconds)
            if args.skip_lens:
                continue
            spent, expected = lens(model, patch, pairs)
            theirs.append(spent)
            off = max(off, ((effects - expected).abs().max() / expected.abs().max()).item())
        mine = statistics.median(ours)
        if args.skip_lens:
            print(f"{name}: {len(effects)} cells, Headlight {mine:.2f} s", flush=True)
            continue
        other = statistics.median(theirs)
        print(f"{name}: {len(effects)} cells, Headlight {mine:.2f} s, TransformerLens {other:.2f} s, {other / mine:.1f} times as fast, "
              f"largest difference {off:.1e} of the largest effect", flush=True)


main()
