# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/golden/lens/*.json: what the lens, attribution, memories, drivers and contributions must find.

    python tests/golden/make_lens_golden.py [REPOSITORY]

For the built-in model and one Llama. The tensors are those of Hugging Face transformers in float64; everything behind
them is NumPy, written from the definitions in include/headlight/analyze (logit_lens.h, attribution.h, memories.h,
drivers.h, contributions.h, refinement.h) and not from the code.
"""
import json
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM

from make_analyze_golden import BUILT_IN, TEXTS, Run, array, rounded

CASES = {BUILT_IN: "doctor", "tests/fixtures/models/llama-kv2": "tiny"}


class Stream:
    """Residual stream, MLPs and norms of one run, float64; [token, ...] arrays by layer."""

    def __init__(self, model, config, inputs):
        llama = config.model_type == "llama"
        body = model.model if llama else model.transformer
        blocks = body.layers if llama else body.h
        kept, hooks = {}, []

        def keep(name, module, of_input=False):
            def hook(module, args, output):
                value = args[0] if of_input else output
                kept[name] = array(value[0] if isinstance(value, tuple) else value)[0]
            hooks.append(module.register_forward_hook(hook))

        for l, block in enumerate(blocks):
            mlp = block.mlp
            first, last = (mlp.gate_proj, mlp.down_proj) if llama else (mlp.dense_h_to_4h, mlp.dense_4h_to_h)
            keep(f"in{l}", block.input_layernorm, of_input=True)
            keep(f"attn{l}", block.self_attn.o_proj if llama else block.self_attention.dense)
            keep(f"mid{l}", block.post_attention_layernorm, of_input=True)
            keep(f"pre{l}", first)
            keep(f"post{l}", last, of_input=True)
            keep(f"out{l}", last)
        norm = body.norm if llama else body.ln_f
        keep("final", norm, of_input=True)
        with torch.no_grad():
            self.logits = array(model(**inputs).logits)[0]
        for hook in hooks:
            hook.remove()
        n = self.layers = len(blocks)
        self.pre = [kept[f"in{l}"] for l in range(n)]
        self.mid = [kept[f"mid{l}"] for l in range(n)]
        self.post = self.pre[1:] + [kept["final"]]
        self.attn = [kept[f"attn{l}"] for l in range(n)]
        self.mlp = [kept[f"out{l}"] for l in range(n)]
        self.mlp_pre = [kept[f"pre{l}"] for l in range(n)]
        self.mlp_post = [kept[f"post{l}"] for l in range(n)]
        self.w_u = array(model.lm_head.weight).T
        self.centred = not llama
        self.eps = config.rms_norm_eps if llama else config.layer_norm_epsilon
        gain_bias = lambda m: (array(m.weight), 0 * array(m.weight) if llama else array(m.bias))
        self.norm = gain_bias(norm)
        self.ln2 = [gain_bias(b.post_attention_layernorm) for b in blocks]
        self.w_in = [array((b.mlp.gate_proj if llama else b.mlp.dense_h_to_4h).weight).T for b in blocks]
        bias = lambda linear: np.zeros(linear.out_features) if linear.bias is None else array(linear.bias)
        self.b_in = [bias(b.mlp.gate_proj if llama else b.mlp.dense_h_to_4h) for b in blocks]
        self.w_out = [array((b.mlp.down_proj if llama else b.mlp.dense_4h_to_h).weight).T for b in blocks]
        self.b_o = [bias(b.self_attn.o_proj if llama else b.self_attention.dense) for b in blocks]
        # The reference closes on itself before anything is written; norms of Llama run in float32 there.
        gap = max([np.abs(self.pre[l] + self.attn[l] - self.mid[l]).max() for l in range(n)] +
                  [np.abs(self.mid[l] + self.mlp[l] - self.post[l]).max() for l in range(n)] +
                  [np.abs(self.read(kept["final"]) - self.logits).max()])
        assert gap < 1e-4, gap

    def scale(self, x):
        spread = x.var(-1, keepdims=True) if self.centred else (x ** 2).mean(-1, keepdims=True)
        return np.sqrt(spread + self.eps)

    def centre(self, x):
        return x - x.mean(-1, keepdims=True) if self.centred else x

    def read(self, x):
        return (self.centre(x) / self.scale(x) * self.norm[0] + self.norm[1]) @ self.w_u


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def lens(s):
    final = log_softmax(s.logits)
    out = {}
    for place, states in (("resid_pre", s.pre), ("resid_mid", s.mid), ("resid_post", s.post)):
        out[place] = []
        for state in states:
            logits = s.read(state)
            log_p = log_softmax(logits)
            order = np.argsort(-logits, axis=-1, kind="stable")[:, :3]
            out[place].append(dict(
                top=[[[int(t), logits[i, t]] for t in row] for i, row in enumerate(order)],
                entropy=-(np.exp(log_p) * log_p).sum(-1), kl=(np.exp(final) * (final - log_p)).sum(-1)))
    return out


def attribution(s, run, p, token, minus):
    w = s.w_u[:, token] - s.w_u[:, minus]
    sigma = s.scale(s.post[-1][p])[0]

    def effect(c):
        return (s.centre(c) / sigma * s.norm[0]) @ w

    heads = [[effect(layer["pattern"][h, p] @ layer["v"][h] @ layer["w_o"][h]) for h in range(run.heads)] for layer in run.layers]
    last = run.layers[-1]
    sources = [effect(last["pattern"][1, p, j] * last["v"][1, j] @ last["w_o"][1]) for j in range(run.tokens)]
    out = dict(position=p, token=token, minus=minus, embed=effect(s.pre[0][p]), heads=heads,
               attn_bias=[effect(b) for b in s.b_o], mlp=[effect(m[p]) for m in s.mlp], final_bias=s.norm[1] @ w,
               total=s.logits[p, token] - s.logits[p, minus], sources=sources)
    total = out["embed"] + np.sum(heads) + np.sum(out["attn_bias"]) + np.sum(out["mlp"]) + out["final_bias"]
    assert abs(total - out["total"]) < 1e-4, total - out["total"]
    return out


def memories(s, layer, p):
    m, norms = s.mlp_post[layer][p], np.linalg.norm(s.w_out[layer], axis=-1)
    size = np.abs(m) * norms
    order = np.argsort(-size, kind="stable")[:8]
    logits = s.w_out[layer][order] @ s.w_u
    p_i = np.exp(log_softmax(logits))
    return dict(layer=layer, position=p, neurons=order, coefficient=m[order], value_norm=norms[order], contribution=size[order],
                top=logits.argmax(-1), bottom=logits.argmin(-1), probability=p_i.max(-1), active=(s.mlp_post[layer] > 0).mean(-1))


def drivers(s, run, layer, neuron, p):
    gain, bias = s.ln2[layer]
    sigma = s.scale(s.mid[layer][p])[0]
    key = s.w_in[layer][:, neuron]

    def effect(c):
        return (s.centre(c) / sigma * gain) @ key

    heads = [[effect(run.layers[l]["pattern"][h, p] @ run.layers[l]["v"][h] @ run.layers[l]["w_o"][h])
              for h in range(run.heads)] for l in range(layer + 1)]
    out = dict(layer=layer, neuron=neuron, position=p, heads=heads, embed=effect(s.pre[0][p]),
               attn_bias=[effect(s.b_o[l]) for l in range(layer + 1)], mlp=[effect(s.mlp[l][p]) for l in range(layer)],
               final_bias=bias @ key + s.b_in[layer][neuron], total=s.mlp_pre[layer][p, neuron])
    total = np.sum(heads) + out["embed"] + np.sum(out["attn_bias"]) + np.sum(out["mlp"]) + out["final_bias"]
    assert abs(total - out["total"]) < 1e-4, total - out["total"]
    return out


def contributions(s, run, layer, p):
    def weight(whole, part):
        return max(np.abs(whole).sum() - np.abs(whole - part).sum(), 1e-5)

    data = run.layers[layer]
    parts = np.array([[weight(s.mid[layer][p], data["pattern"][h, p, j] * (data["v"][h, j] @ data["w_o"][h]))
                       for j in range(p + 1)] for h in range(run.heads)])
    stream = weight(s.mid[layer][p], s.pre[layer][p])
    total = stream + parts.sum()
    mlp, past = weight(s.post[layer][p], s.mlp[layer][p]), weight(s.post[layer][p], s.mid[layer][p])
    return dict(layer=layer, position=p, residual=stream / total, heads=parts / total, mlp=mlp / (mlp + past))


def refinement(s):
    out, final = [], s.read(s.post[-1]).argmax(-1)[1:]
    for l in range(s.layers):
        r, y, o = (s.read(x).argmax(-1)[1:] for x in (s.mid[l], s.mlp[l], s.post[l]))
        p = np.exp(log_softmax(s.read(s.mid[l])))[1:]
        values = (s.w_out[l] * s.norm[0] @ s.w_u).argmax(-1)
        active = s.mlp_post[l][1:] > 0
        agreement, residual, ffn = (r == y) & (y == o), (o == r) & (r != y), (o == y) & (r != y)
        out.append(dict(agreement=agreement.mean(), residual=residual.mean(), ffn=ffn.mean(), active=active.mean(),
                        zero_agreement=np.mean([not (values[a] == t).any() for a, t in zip(active, y)]),
                        residual_final=(r == final).mean(), probability=p[np.arange(len(final)), final].mean()))
    return out


def golden(root, folder, case):
    config = AutoConfig.from_pretrained(root / folder)
    model = AutoModelForCausalLM.from_pretrained(root / folder, attn_implementation="eager", dtype=torch.float64).eval()
    text = TEXTS[case][0]
    ids = Tokenizer.from_file(str(root / folder / "tokenizer.json")).encode(text).ids
    inputs = {"input_ids": torch.tensor([ids])}
    s, run = Stream(model, config, inputs), Run(model, config, inputs)
    p, last = len(ids) - 3, s.layers - 1
    return dict(text=text, ids=ids, lens=lens(s), attribution=attribution(s, run, p, ids[p + 1], ids[1]),
                memories=memories(s, last, p), drivers=drivers(s, run, last, 7, p), contributions=contributions(s, run, last, p),
                refinement=refinement(s))


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    out = root / "tests/golden/lens"
    out.mkdir(parents=True, exist_ok=True)
    for folder, case in CASES.items():
        path = out / f"{Path(folder).name}.json"
        path.write_text(json.dumps(rounded(golden(root, folder, case)), separators=(",", ":")) + "\n")
        print(path.relative_to(root), path.stat().st_size)


if __name__ == "__main__":
    main()
