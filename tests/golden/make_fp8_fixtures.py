#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes tests/fixtures/fp8: tiny Llamas whose matrices are in 8-bit floating point, and fp8.safetensors beside the goldens: what
transformers makes of them when it dequantises.

    python tests/golden/make_fp8_fixtures.py

blocks, ragged: a scale for each block (`weight_scale_inv`, as DeepSeek-V3); ragged has blocks that do not divide the matrices.
tensors: one scale for each matrix, and one for activations that is not needed. rows: compressed-tensors, one for each row.
"""
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import save_file
from transformers.integrations.finegrained_fp8 import Fp8Dequantize, _dequantize_fp8_weight

from make_golden import byte_level_tokenizer, randomise

ROOT = pathlib.Path(__file__).resolve().parents[1]
F8 = torch.float8_e4m3fn
SCHEMES = {
    "blocks": (dict(quant_method="fp8", activation_scheme="dynamic", fmt="e4m3", weight_block_size=[8, 8]), torch.float32),
    "ragged": (dict(quant_method="fp8", activation_scheme="dynamic", weight_block_size=[12, 10]), torch.bfloat16),
    "tensors": (dict(quant_method="fp8", activation_scheme="static"), torch.float32),
    "rows": (dict(quant_method="compressed-tensors", format="float-quantized"), torch.bfloat16),
}


def blocks_of(name, shape, config):
    if name == "tensors":
        return list(shape)
    return [1, shape[1]] if name == "rows" else config["weight_block_size"]


def quantised(weight, block, scale_dtype):
    """Numbers in fp8 and the scales of their blocks: the largest of a block becomes the largest of the format."""
    rows, columns = (-(-side // each) for side, each in zip(weight.shape, block))
    scale = torch.empty(rows, columns)
    q = torch.empty(weight.shape, dtype=F8)
    for i in range(rows):
        for j in range(columns):
            part = (slice(i * block[0], (i + 1) * block[0]), slice(j * block[1], (j + 1) * block[1]))
            scale[i, j] = (weight[part].abs().max() / 448).to(scale_dtype)
            q[part] = (weight[part] / scale[i, j]).clamp(-448, 448).to(F8)
    return q, scale.to(scale_dtype)


@torch.no_grad()
def make(name, seed, golden):
    quantization, scale_dtype = SCHEMES[name]
    tokenizer, vocab = byte_level_tokenizer(True)
    config = transformers.LlamaConfig(vocab_size=vocab, bos_token_id=1, eos_token_id=2, pad_token_id=3, hidden_size=16, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=2, intermediate_size=24, max_position_embeddings=64)
    model = transformers.LlamaForCausalLM(config)
    randomise(model, seed)
    folder = ROOT / "fixtures" / "fp8" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tensors = {}
    for key, weight in model.state_dict().items():
        if "_proj." not in key:
            tensors[key] = weight.to(torch.bfloat16)
            continue
        block = blocks_of(name, weight.shape, quantization)
        q, scale = quantised(weight, block, scale_dtype)
        tensors[key] = q
        tensors[key + ("_scale_inv" if "weight_block_size" in quantization else "_scale")] = scale.reshape(()) if name == "tensors" else scale
        if name == "tensors":
            tensors[key.removesuffix("weight") + "input_scale"] = torch.tensor(0.5)
        golden[f"{name}.{key}"] = _dequantize_fp8_weight(q, scale, block, torch.float32)
        if name != "ragged":  # the other reference wants blocks that divide the matrix
            again = Fp8Dequantize(None)._dequantize_one(q, scale, torch.float32)
            assert torch.equal(again, golden[f"{name}.{key}"])
    save_file({key: t.contiguous() for key, t in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    written = json.loads(config.to_json_string())
    written |= dict(architectures=["LlamaForCausalLM"], quantization_config=quantization)
    (folder / "config.json").write_text(json.dumps(written, indent=2, sort_keys=True) + "\n")
    tokenizer.save(str(folder / "tokenizer.json"))


golden = {}
for seed, name in enumerate(SCHEMES):
    make(name, 300 + seed, golden)
save_file(golden, ROOT / "golden" / "fp8.safetensors")
