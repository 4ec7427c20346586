#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Time and memory of long texts and of models larger than memory, on random weights.

    python bench/large_models.py [--headlight build/release/bin/headlight] [--folder FOLDER] [--cases a,b,c,d,e] [--transformers]

a: the shape of SmolLM2-135M, model view of 9,612 tokens   b: 18 layers, width 640, vocabulary 262,144, as long
c: a with 32,768 tokens   d: the shape of an 8B model in Q4_K (GGUF, 4.6 GB), 64 tokens   e: a 3B model in bfloat16 (6.4 GB), 64 tokens

Writes each model into a temporary folder (or FOLDER, which is not removed), runs headlight on it once and prints Markdown. "own" is the
largest RssAnon and "file" the largest RssFile while it ran: pages of a mapped file can be dropped by the system at any time. "all"
is the largest resident set of the kernel's account, both together.
With --transformers a and e through transformers as well, where this Python has it: hidden states of every layer and logits of one
position, without and with all attentions (those of a would take 100 GB). No program gets more address space than --limit.
Needs numpy.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
POOL = 1 << 26  # bytes of random data that all tensors are cut from
SHAPES = {
    "135M": dict(layers=30, width=576, mlp=1536, heads=9, kv=3, vocabulary=49152, tied=True),
    "270M": dict(layers=18, width=640, mlp=2048, heads=10, kv=2, vocabulary=262144, tied=True),
    "3B": dict(layers=28, width=3072, mlp=8192, heads=24, kv=8, vocabulary=128256, tied=True),
    "8B": dict(layers=32, width=4096, mlp=14336, heads=32, kv=8, vocabulary=128256, tied=False),
}
CASES = {"a": ("135M", 9612), "b": ("270M", 9612), "c": ("135M", 32768), "d": ("8B", 64), "e": ("3B", 64)}


def tensors(s):
    """Names of Hugging Face and of GGUF with the shape, row-major."""
    d, kv = s["width"], s["kv"] * s["width"] // s["heads"]
    yield "model.embed_tokens.weight", "token_embd.weight", (s["vocabulary"], d)
    for i in range(s["layers"]):
        for ours, theirs, shape in (
                ("self_attn.q_proj", "attn_q", (d, d)), ("self_attn.k_proj", "attn_k", (kv, d)), ("self_attn.v_proj", "attn_v", (kv, d)),
                ("self_attn.o_proj", "attn_output", (d, d)), ("mlp.gate_proj", "ffn_gate", (s["mlp"], d)),
                ("mlp.up_proj", "ffn_up", (s["mlp"], d)), ("mlp.down_proj", "ffn_down", (d, s["mlp"])),
                ("input_layernorm", "attn_norm", (d,)), ("post_attention_layernorm", "ffn_norm", (d,))):
            yield f"model.layers.{i}.{ours}.weight", f"blk.{i}.{theirs}.weight", shape
    yield "model.norm.weight", "output_norm.weight", (d,)
    if not s["tied"]:
        yield "lm_head.weight", "output.weight", (s["vocabulary"], d)


def pieces(pool, size, random):
    """`size` bytes of the pool, from other places each time."""
    while size > 0:
        start = int(random.integers(0, len(pool) // 2)) // 144 * 144
        part = pool[start:start + size]
        yield part
        size -= len(part)


def write_folder(folder, s):
    """bfloat16, one file, streamed."""
    random = numpy.random.default_rng(7)
    floats = (random.standard_normal(POOL // 2, dtype=numpy.float32) * numpy.float32(0.02)).view(numpy.uint32)
    pool = (floats >> 16).astype(numpy.uint16).tobytes()
    ones = numpy.full(1 << 16, 0x3F80, numpy.uint16).tobytes()
    header, at = {}, 0
    for name, _, shape in tensors(s):
        size = 2 * int(numpy.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, _, shape in tensors(s):
            size = 2 * int(numpy.prod(shape))
            if len(shape) == 1:
                out.write(ones[:size])
                continue
            for part in pieces(pool, size, random):
                out.write(part)
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": s["width"], "intermediate_size": s["mlp"],
        "num_hidden_layers": s["layers"], "num_attention_heads": s["heads"], "num_key_value_heads": s["kv"],
        "vocab_size": s["vocabulary"], "max_position_embeddings": 65536, "rms_norm_eps": 1e-5, "tie_word_embeddings": s["tied"],
        "hidden_act": "silu", "rope_theta": 100000.0, "torch_dtype": "bfloat16"}))
    vocabulary = {"[UNK]": 0, **{f"w{i}": i for i in range(1, 1000)}}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None,
        "decoder": None, "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}}))
    return folder


def string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def field(key, value):
    if isinstance(value, bool):
        return string(key) + struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return string(key) + struct.pack("<II", 4, value)
    if isinstance(value, float):
        return string(key) + struct.pack("<If", 6, value)
    if isinstance(value, str):
        return string(key) + struct.pack("<I", 8) + string(value)
    kind = 8 if isinstance(value[0], str) else 5
    items = b"".join(string(x) if kind == 8 else struct.pack("<i", x) for x in value)
    return string(key) + struct.pack("<IIQ", 9, kind, len(value)) + items


def byte_names():
    """GPT-2's characters for the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(256 + others.index(b)) for b in range(256)]


def write_gguf(folder, s):
    """Q4_K: blocks of 256 numbers in 144 bytes, d and dmin (fp16), 12 bytes of scales, 128 of quants."""
    random = numpy.random.default_rng(7)
    blocks = random.integers(0, 256, (POOL // 144, 144), dtype=numpy.uint8)
    blocks[:, 0:2] = numpy.frombuffer(numpy.float16(2e-5).tobytes(), numpy.uint8)
    blocks[:, 2:4] = numpy.frombuffer(numpy.float16(1.5e-4).tobytes(), numpy.uint8)
    pool = blocks.tobytes()
    names = byte_names() + [f"tok{i}" for i in range(256, s["vocabulary"])]
    fields = {
        "general.architecture": "llama", "general.name": "random-8b", "llama.block_count": s["layers"], "llama.context_length": 65536,
        "llama.embedding_length": s["width"], "llama.feed_forward_length": s["mlp"], "llama.attention.head_count": s["heads"],
        "llama.attention.head_count_kv": s["kv"], "llama.attention.layer_norm_rms_epsilon": 1e-5, "llama.rope.freq_base": 500000.0,
        "llama.rope.dimension_count": s["width"] // s["heads"], "llama.vocab_size": s["vocabulary"], "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.tokens": names, "tokenizer.ggml.token_type": [1] * len(names),
        "tokenizer.ggml.merges": ["t h"], "tokenizer.ggml.bos_token_id": 300, "tokenizer.ggml.eos_token_id": 301,
        "tokenizer.ggml.add_bos_token": False}
    names[256] = "th"
    listed = list(tensors(s))
    infos, at, sizes = b"", 0, []
    for _, name, shape in listed:
        count = int(numpy.prod(shape))
        size = 4 * count if len(shape) == 1 else count // 256 * 144
        infos += string(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in reversed(shape))
        infos += struct.pack("<IQ", 0 if len(shape) == 1 else 12, at)
        sizes.append(size)
        at += size + -size % 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(listed), len(fields)) + b"".join(field(k, v) for k, v in fields.items()) + infos
    file = folder / "random-8b-Q4_K.gguf"
    with open(file, "wb") as out:
        out.write(head + b"\0" * (-len(head) % 32))
        for (_, _, shape), size in zip(listed, sizes):
            if len(shape) == 1:
                out.write(numpy.ones(shape[0], numpy.float32).tobytes())
            else:
                for part in pieces(pool, size, random):
                    out.write(part)
            out.write(b"\0" * (-size % 32))
    return file


def measured(command, limit):
    """Seconds by the clock and of all cores, largest RssAnon, RssFile and resident set; before them the exit status, 0 unless
    `limit` bytes of address space were not enough."""
    start = time.monotonic()
    errors = tempfile.TemporaryFile()
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=errors,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    own, file = 0, 0
    while True:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        try:
            for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name == "RssAnon":
                    own = max(own, int(value.split()[0]) * 1024)
                elif name == "RssFile":
                    file = max(file, int(value.split()[0]) * 1024)
        except FileNotFoundError:
            pass
        time.sleep(0.01)
    seconds = time.monotonic() - start
    if status != 0:
        errors.seek(0)
        said = errors.read().decode()
        if "allocate" not in said and "MemoryError" not in said:
            raise SystemExit(f"{command}: {said}")
    return status, seconds, used.ru_utime + used.ru_stime, own, file, used.ru_maxrss * 1024


def show(case, what, found):
    status, seconds, cores, *sizes = found
    what += ": ends for want of memory" if status else ""
    print(f"| {case} | {what} | {seconds:,.1f} s | {cores:,.1f} s | {' | '.join(f'{size / 1e9:,.2f} GB' for size in sizes)} |", flush=True)


OTHERS = """
import sys, torch
from transformers import AutoModelForCausalLM
folder, tokens, dtype, attention = sys.argv[1:]
torch.set_num_threads(2)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype), attn_implementation=attention).eval()
ids = torch.tensor([[1 + i % 900 for i in range(int(tokens))]])
with torch.no_grad():
    model(ids, output_hidden_states=True, output_attentions=attention == "eager", logits_to_keep=1)
"""
# By case: types of numbers and kinds of attention ("eager" alone can hand its weights out).
OTHERS_OF = {"a": [("float32", "sdpa"), ("float32", "eager")],
             "e": [("bfloat16", "sdpa"), ("bfloat16", "eager"), ("float32", "eager")]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headlight", default=str(ROOT / "build/release/bin/headlight"))
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--cases", default="a,b,c,d,e")
    parser.add_argument("--memory", help="passed on to headlight")
    parser.add_argument("--limit", type=float, default=18, help="GB of address space for each program")
    parser.add_argument("--transformers", action="store_true")
    args = parser.parse_args()
    root = args.folder or pathlib.Path(tempfile.mkdtemp(prefix="headlight-large-"))
    memory = ["--memory", args.memory] if args.memory else []
    print("| case | what | time | processor time | own memory, peak | file pages, peak | all, peak |\n|---|---|---|---|---|---|---|")
    try:
        for case in args.cases.split(","):
            shape, tokens = CASES[case]
            folder = root / shape
            if not folder.exists():
                folder.mkdir(parents=True)
                (write_gguf if shape == "8B" else write_folder)(folder, SHAPES[shape])
            model = folder
            text = root / "text.txt"
            text.write_text("a" * tokens if shape == "8B" else " ".join(f"w{1 + i % 900}" for i in range(tokens)))
            run = lambda *words: measured([args.headlight, *words, *memory], int(args.limit * 1e9))
            if tokens == 64:
                show(case, "opening", run("info", model))
            show(case, f"model view, {tokens:,} tokens",
                 run("render", model, "--text-file", text, "--view", "model", "--out", root / "view.png"))
            if tokens == 64:
                show(case, "logit lens", run("analyze", "lens", model, "--text-file", text, "--out", root / "lens.csv"))
                show(case, "8 tokens written", run("generate", model, "--text-file", text, "--tokens", "8", "--ignore-end"))
            for dtype, attention in OTHERS_OF.get(case, []) if args.transformers else []:
                show(case, f"transformers, {dtype}, {attention}" + (" with attentions" if attention == "eager" else ""),
                     measured([sys.executable, "-c", OTHERS, folder, tokens, dtype, attention], int(args.limit * 1e9)))
    finally:
        if not args.folder:
            shutil.rmtree(root)


if __name__ == "__main__":
    main()
