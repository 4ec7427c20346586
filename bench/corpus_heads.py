# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures of heads over texts of one length: `headlight_bench corpus` and a loop over Hugging Face transformers, in turns.

    python bench/corpus_heads.py --bench build/release/bin/headlight_bench --folder FOLDER [--tokens 16 512] [--rounds 3]

FOLDER is a GPT-2 (`headlight_bench --write-model FOLDER` makes one). On a busy machine `--processor-time --threads 1` compares the
time of the processor in place of the clock's. The loop runs the stack without its unembedding, one text at
a time, with eager attention, and computes of every head what Headlight gathers of patterns, values and updates: entropies, distances, shares,
focus, value-weighted shares, induction, previous and duplicate tokens, updates, and a histogram of distances. Excess measures and
examples are left out of the loop, so it does less. Prints a line a length.
"""
import argparse
import json
import statistics
import subprocess
import time

import torch
import transformers


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--tokens", type=int, nargs="+", default=[16, 512])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processor-time", action="store_true")
    return parser.parse_args()


def headlight(args, tokens):
    """Tokens a second with heads gathered, and their share of the matrix product."""
    command = [args.bench, "corpus", "--model", args.folder, "--tokens", str(tokens), "--repeats", "5", "--json",
               "--threads", str(args.threads)]
    results = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["results"]
    found = {r["what"]: r["value"] for r in results}
    clock = ", processor time" if args.processor_time else ""
    return found["heads gathered" + clock], found["heads gathered: share of matrix product" + clock]


class Loop:
    def __init__(self, folder):
        self.model = transformers.GPT2Model.from_pretrained(folder, attn_implementation="eager").eval()
        self.fused, self.mixed = {}, {}
        for layer, block in enumerate(self.model.h):
            block.attn.c_attn.register_forward_hook(lambda _, __, out, at=layer: self.fused.__setitem__(at, out))
            block.attn.c_proj.register_forward_pre_hook(lambda _, inputs, at=layer: self.mixed.__setitem__(at, inputs[0]))

    @torch.no_grad()
    def measures(self, ids):
        out = self.model(ids, output_attentions=True, output_hidden_states=True, use_cache=False)
        n, heads = ids.shape[1], self.model.config.n_head
        place = torch.arange(n)
        distance = (place[:, None] - place[None, :]).clamp_min(0)
        bins = torch.where(distance > 0, distance.float().log2().floor().long() + 1, 0).flatten()
        same = (ids[0][:, None] == ids[0][None, :]) & (place[:, None] > place[None, :])
        behind = torch.roll(same, 1, 1)
        behind[:, 0] = False
        repeats = same.any(1)
        found = []
        for layer, pattern in enumerate(out.attentions):
            a = pattern[0]
            w_o = self.model.h[layer].attn.c_proj.weight.view(heads, -1, self.model.config.n_embd)
            v = self.fused[layer][0].split(self.model.config.n_embd, 1)[2].view(n, heads, -1).transpose(0, 1)
            z = self.mixed[layer][0].view(n, heads, -1).transpose(0, 1)
            lengths = (v @ w_o).norm(dim=-1)
            update, stream = z @ w_o, out.hidden_states[layer][0]
            weighted = a * lengths[:, None, :]
            total = weighted.sum(-1)
            smooth = 0.9999 * a + (0.0001 / (place + 1))[:, None]
            smooth = torch.where(distance >= 0, smooth, 0) * (place[:, None] >= place[None, :])
            diagonal, before = a.diagonal(dim1=1, dim2=2), a.diagonal(-1, 1, 2)
            top = a.topk(min(2, n), -1)
            size = update.norm(dim=-1)
            rows = {
                "entropy": -torch.xlogy(a, a).sum(-1), "entropy_smoothed": -torch.xlogy(smooth, smooth).sum(-1),
                "mean_distance": (a * distance).sum(-1), "share_self": diagonal, "share_first": a[:, :, 0],
                "top1_minus_top2": top.values[..., 0] - top.values[..., -1],
                "argmax_self": (top.indices[..., 0] == place).float(), "argmax_first": (top.indices[..., 0] == 0).float(),
                "vw_share_first": weighted[:, :, 0] / total, "vw_share_self": weighted.diagonal(dim1=1, dim2=2) / total,
                "weighted_value_norm": total, "share_same_token": (a * same).sum(-1),
                "update_magnitude": size / stream.norm(dim=-1), "update_inner": z.norm(dim=-1) / stream.norm(dim=-1),
                "update_orientation": (update * stream).sum(-1) / (size * stream.norm(dim=-1)),
            }
            numbers = {name: row[:, 1:].double().mean(1) for name, row in rows.items()}
            numbers["share_previous"] = before.double().mean(1)
            numbers["max_weight"] = a[:, 1:].amax((1, 2))
            numbers["value_norm"] = lengths.double().mean(1)
            numbers["induction"] = (a * behind).sum(-1)[:, repeats].double().mean(1)
            numbers["duplicate_token"] = (a * same).sum(-1)[:, repeats].double().mean(1)
            numbers["distance"] = torch.zeros(heads, 14).index_add_(1, bins.clamp_max(13), a.flatten(1))
            found.append(numbers)
        return found


def main():
    args = arguments()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(args.threads)
    loop = Loop(args.folder)
    clock = time.process_time if args.processor_time else time.perf_counter
    for tokens in args.tokens:
        ids = torch.randint(1, 50000, (1, tokens), generator=torch.Generator().manual_seed(tokens))
        loop.measures(ids)
        own, shares, theirs = [], [], []
        for _ in range(args.rounds):
            rate, share = headlight(args, tokens)
            own.append(rate)
            shares.append(share)
            for _ in range(3):
                start = clock()
                loop.measures(ids)
                theirs.append(tokens / (clock() - start) * (args.threads if args.processor_time else 1))
        mine, other = statistics.median(own), statistics.median(theirs)
        print(f"{tokens} tokens: Headlight {mine:,.0f} tokens/s ({100 * statistics.median(shares):.0f} % of the matrix product), "
              f"transformers {other:,.0f}: {mine / other:.2f} times as fast")


if __name__ == "__main__":
    main()
