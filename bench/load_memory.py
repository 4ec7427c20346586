#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory it takes to open a sharded model in half precision.

    python bench/load_memory.py [--headlight build/release/bin/headlight] [--folder FOLDER]

Writes a folder of Llama's shape with random fp16 weights in four shards (about 640 MB; removed again unless --folder is
given), opens it with `headlight generate --tokens 1` as float32 and as bfloat16, and prints Markdown. The peak is the
kernel's VmHWM: it counts the pages of mapped files that are in memory beside the program's own. RssAnon and RssFile are
sampled while it runs. What the same call takes on a model of a few kilobytes is the program itself: LibTorch's code and
its tables. Needs numpy and safetensors.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

import numpy
from safetensors.numpy import save_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS, WIDTH, HEADS, MLP, VOCABULARY, SHARDS = 18, 1024, 16, 4096, 8192, 4


def weights():
    random = numpy.random.default_rng(20251122)

    def normal(*shape):
        return (random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)).astype(numpy.float16)

    yield "model.embed_tokens.weight", normal(VOCABULARY, WIDTH)
    for layer in range(LAYERS):
        block = f"model.layers.{layer}."
        for part in "qkvo":
            yield f"{block}self_attn.{part}_proj.weight", normal(WIDTH, WIDTH)
        for part, shape in {"gate": (MLP, WIDTH), "up": (MLP, WIDTH), "down": (WIDTH, MLP)}.items():
            yield f"{block}mlp.{part}_proj.weight", normal(*shape)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield f"{block}{norm}.weight", numpy.ones(WIDTH, numpy.float16)
    yield "model.norm.weight", numpy.ones(WIDTH, numpy.float16)
    yield "lm_head.weight", normal(VOCABULARY, WIDTH)


def write_model(folder):
    folder.mkdir(parents=True, exist_ok=True)
    of_shard, places, sizes, numbers = [{} for _ in range(SHARDS)], {}, 0, 0
    for i, (name, array) in enumerate(weights()):
        shard = min(SHARDS - 1, i * SHARDS // (LAYERS * 9 + 3))
        of_shard[shard][name] = array
        places[name] = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
        sizes += array.nbytes
    for shard, tensors in enumerate(of_shard):
        save_file(tensors, folder / f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors")
        numbers += sum(t.size for t in tensors.values())
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": sizes}, "weight_map": places}))
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": MLP,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "vocab_size": VOCABULARY,
        "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "hidden_act": "silu"}))
    vocabulary = {"[UNK]": 0, **{f"w{i}": i for i in range(1, 100)}}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None,
        "decoder": None, "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}}))
    return sizes, 4 * numbers


def status(pid):
    fields = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmHWM", "RssAnon", "RssFile"):
            fields[name] = int(value.split()[0]) * 1024
    return fields


def peak(headlight, folder, text, dtype):
    """VmHWM in bytes; RssAnon and RssFile at the sample where their sum was largest."""
    process = subprocess.Popen([headlight, "generate", str(folder), "--text", text, "--tokens", "1", "--dtype", dtype, "--device", "cpu", "--ignore-end"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    high, anon, pages = 0, 0, 0
    while process.poll() is None:
        try:
            now = status(process.pid)
        except FileNotFoundError:
            break
        high = max(high, now.get("VmHWM", 0))
        if now.get("RssAnon", 0) + now.get("RssFile", 0) > anon + pages:
            anon, pages = now["RssAnon"], now["RssFile"]
        time.sleep(0.002)
    if process.wait() != 0:
        raise SystemExit("headlight could not open the model")
    return high, anon, pages


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headlight", default=str(ROOT / "build/release/bin/headlight"))
    parser.add_argument("--folder", type=pathlib.Path)
    args = parser.parse_args()
    folder = args.folder or pathlib.Path(tempfile.mkdtemp(prefix="headlight-fp16-"))
    try:
        file_bytes, float_bytes = write_model(folder)
        print("| opened as | bound | peak (VmHWM) | own / file pages at the peak | of the bound | program alone | of the bound without it |")
        print("|---|---|---|---|---|---|---|")
        for dtype, bound in (("float32", float_bytes), ("bfloat16", file_bytes)):
            alone, _, _ = peak(args.headlight, ROOT / "tests/fixtures/models/llama-kv2", "a", dtype)
            high, anon, pages = peak(args.headlight, folder, "w1", dtype)
            mb = lambda n: f"{n / 1e6:,.0f} MB"
            print(f"| {dtype} | {mb(bound)} | {mb(high)} | {mb(anon)} / {mb(pages)} | {high / bound:.2f} | {mb(alone)} | {(high - alone) / bound:.2f} |")
    finally:
        if not args.folder:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
