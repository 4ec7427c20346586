#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes router_bf16.safetensors: what the routers of tiny mixtures of experts read and give in a bfloat16 run of transformers.

    python tests/golden/make_router_golden.py

Of the first layer with experts: MODEL.input [pos, d_model], MODEL.logits [pos, expert] and MODEL.weights [pos, expert] (0: not
chosen), each in the type that the reference has it in.
"""
import pathlib

import torch
import transformers
from safetensors.torch import save_file

ROOT = pathlib.Path(__file__).resolve().parents[1]


@torch.no_grad()
def record(name):
    folder = ROOT / "fixtures" / "models" / name
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    model = kind.from_pretrained(folder, attn_implementation="eager", experts_implementation="eager", dtype=torch.bfloat16).eval()
    seen = {}

    def hook(module, inputs, output):
        seen.setdefault("input", inputs[0].reshape(-1, inputs[0].shape[-1]).clone())
        seen.setdefault("output", output)
    router = next(m for m in model.modules() if type(m).__name__.lower().endswith("topkrouter"))
    router.register_forward_hook(hook)
    model(input_ids=torch.arange(3, 43)[None] * 5 % 61)
    logits, weights, chosen = seen["output"]
    return {"input": seen["input"], "logits": logits, "weights": torch.zeros_like(logits, dtype=weights.dtype).scatter(1, chosen, weights)}


tensors = {}
for each in ("mixtral", "qwen2-moe", "qwen2-moe-step", "gpt-oss", "deepseek-v2", "deepseek-v2-groups", "deepseek-v3", "deepseek-v3-halves"):
    for key, tensor in record(each).items():
        tensors[f"{each}.{key}"] = tensor.contiguous()
        print(each, key, tensor.dtype, tuple(tensor.shape))
save_file(tensors, ROOT / "golden" / "router_bf16.safetensors")
