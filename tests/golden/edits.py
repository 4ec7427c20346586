# SPDX-License-Identifier: GPL-3.0-or-later
"""Logits of fixtures under forward hooks of transformers: heads zeroed, meaned and scaled, a neuron clamped, a vector added. Writes
tests/golden/edits.json.

    python tests/golden/edits.py
"""
import json
import pathlib

import torch
from decoders import lifted
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXT = "the nurse asked the old nurse"
torch.set_default_dtype(torch.float64)


def parts(model, layer):
    """The modules that read z and the neurons, and the block."""
    kind = model.config.model_type
    if kind == "gpt2":
        block = model.transformer.h[layer]
        return block.attn.c_proj, block.mlp.c_proj, block
    if kind == "gpt_neox":
        block = model.gpt_neox.layers[layer]
        return block.attention.dense, block.mlp.dense_4h_to_h, block
    block = model.model.layers[layer]
    return block.self_attn.o_proj, block.mlp.down_proj, block


def before(module, change):
    return module.register_forward_pre_hook(lambda _, args: (change(args[0].clone()), *args[1:]))


def run(model, ids, hooks):
    handles = [place(model) for place in hooks]
    with torch.no_grad():
        logits = model(ids).logits[0]
    for handle in handles:
        handle.remove()
    return logits


def head(layer, number, change):
    def place(model):
        z, _, _ = parts(model, layer)
        d = getattr(model.config, "head_dim", None) or model.config.hidden_size // model.config.num_attention_heads

        def of_head(x):
            at = slice(number * d, (number + 1) * d)
            x[..., at] = change(x[..., at].clone())
            return x

        return before(z, of_head)

    return place


def neuron(layer, number, value):
    def place(model):
        def clamp(x):
            x[..., number] = value
            return x

        return before(parts(model, layer)[1], clamp)

    return place


def add(layer, position, vector):
    def place(model):
        def moved(_, __, out):
            stream = (out[0] if isinstance(out, tuple) else out).clone()
            stream[0, position] += vector
            return (stream, *out[1:]) if isinstance(out, tuple) else stream

        return parts(model, layer)[2].register_forward_hook(moved)

    return place


def golden(model, ids):
    usual = {}
    z, _, _ = parts(model, 1)
    seen = z.register_forward_pre_hook(lambda _, args: usual.update(z=args[0].clone()))
    run(model, ids, [])
    seen.remove()
    d = getattr(model.config, "head_dim", None) or model.config.hidden_size // model.config.num_attention_heads
    mean = usual["z"][0, :, d : 2 * d].mean(0)
    unembedding = model.get_output_embeddings().weight[7]
    cases = {
        "zero L0H1": [head(0, 1, lambda x: 0 * x)],
        "mean L1H1": [head(1, 1, lambda x: mean.expand_as(x))],
        "scale L1H0 -1.5": [head(1, 0, lambda x: -1.5 * x)],
        "clamp L0N5 4": [neuron(0, 5, 4.0)],
        "add L0.resid_post token 7 2 @3": [add(0, 3, 2 * unembedding)],
        "zero L0H1; scale L1H0 -1.5": [head(0, 1, lambda x: 0 * x), head(1, 0, lambda x: -1.5 * x)],
    }
    logits = {words: [round(x, 12) for x in run(model, ids, hooks)[-1].tolist()] for words, hooks in cases.items()}
    return {"ids": ids[0].tolist(), "logits": logits}


def main():
    out = {"text": TEXT, "models": {}}
    for name in ("gpt2", "llama-kv2", "gpt-neox"):
        folder = ROOT / "fixtures/models" / name
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").eval()
        ids = AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt").input_ids
        with lifted(model, True):
            out["models"][name] = golden(model, ids)
    (ROOT / "golden/edits.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


main()
