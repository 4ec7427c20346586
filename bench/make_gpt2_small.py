# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a model folder of GPT-2 small's shape with random weights (about 500 MB, fp32), for benchmarks only.

    python bench/make_gpt2_small.py FOLDER

The tokenizer splits at spaces and knows the words w1 ... w50256, so that a text of N words has N tokens.
Every tensor is written under the names of Hugging Face's GPT2LMHeadModel; needs numpy and safetensors.
"""
import argparse
import json
import pathlib

import numpy
from safetensors.numpy import save_file

LAYERS, HEADS, WIDTH, CONTEXT, VOCABULARY = 12, 12, 768, 2048, 50257


def tensors():
    random = numpy.random.default_rng(20240521)

    def normal(*shape, std=0.02):
        return (random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(std)).astype(numpy.float32)

    result = {"transformer.wte.weight": normal(VOCABULARY, WIDTH), "transformer.wpe.weight": normal(CONTEXT, WIDTH)}

    def norm(name):
        result[name + ".weight"] = 1 + normal(WIDTH)
        result[name + ".bias"] = normal(WIDTH)

    def linear(name, rows, columns, std=0.02):
        result[name + ".weight"] = normal(rows, columns, std=std)  # Conv1D: [in, out]
        result[name + ".bias"] = normal(columns)

    for layer in range(LAYERS):
        block = f"transformer.h.{layer}."
        norm(block + "ln_1")
        linear(block + "attn.c_attn", WIDTH, 3 * WIDTH, std=0.06)  # attention that is not flat
        linear(block + "attn.c_proj", WIDTH, WIDTH)
        norm(block + "ln_2")
        linear(block + "mlp.c_fc", WIDTH, 4 * WIDTH)
        linear(block + "mlp.c_proj", 4 * WIDTH, WIDTH)
    norm("transformer.ln_f")
    return result


def config():
    return {
        "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "activation_function": "gelu_new",
        "n_layer": LAYERS, "n_head": HEADS, "n_embd": WIDTH, "n_positions": CONTEXT, "n_ctx": CONTEXT,
        "vocab_size": VOCABULARY, "layer_norm_epsilon": 1e-5, "torch_dtype": "float32",
        "tie_word_embeddings": True, "bos_token_id": 0, "eos_token_id": 0,
        "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
    }


def tokenizer():
    vocabulary = {"[UNK]": 0} | {f"w{i}": i for i in range(1, VOCABULARY)}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": 0, "content": "[UNK]", "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True}],
        "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors(), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config(), indent=1))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()))


if __name__ == "__main__":
    main()
