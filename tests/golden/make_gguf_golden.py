#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the GGUF files of tests/fixtures/gguf and tests/golden/gguf_quants.safetensors.

    python tests/golden/make_gguf_golden.py

Needs gguf (requirements.txt). The fixtures of tests/fixtures/models are written as llama.cpp's converter writes such
models (names, rearranged rows, transposed matrices, vocabulary), so that a program that undoes it all has the very same
numbers again. The quants are random blocks and what gguf.quants.dequantize makes of them.
"""
import json
import pathlib
import re

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Q
from safetensors.numpy import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = ROOT / "fixtures" / "models"
OUT = ROOT / "fixtures" / "gguf"
BLOCKS = 3

# Where a block keeps its half-precision numbers: random bytes there would be NaN now and then.
HALVES = {Q.F16: [0], Q.Q4_0: [0], Q.Q4_1: [0, 2], Q.Q5_0: [0], Q.Q5_1: [0, 2], Q.Q8_0: [0], Q.Q2_K: [80, 82], Q.Q3_K: [108],
          Q.Q4_K: [0, 2], Q.Q5_K: [0, 2], Q.Q6_K: [208], Q.IQ4_NL: [0], Q.IQ4_XS: [0], Q.MXFP4: [], Q.F32: [], Q.BF16: []}
WHOLE = 48  # blocks of the types that have one number each


def quants():
    rng = np.random.default_rng(20250101)
    arrays = {}
    for kind, halves in HALVES.items():
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        count = WHOLE if elements == 1 else BLOCKS
        blocks = rng.integers(0, 256, (count, size), dtype=np.uint8)
        if kind == Q.F32:
            blocks = rng.standard_normal(count).astype(np.float32).view(np.uint8).reshape(count, size)
        if kind == Q.BF16:
            blocks = (rng.standard_normal(count).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
            blocks = blocks.reshape(count, size).copy()
        if kind == Q.MXFP4:
            blocks[:, 0] = [0, 1, 127][:count]
        for at in halves:
            scale = (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 2, count)).astype(np.float16)  # some subnormal
            blocks[:, at:at + 2] = scale.view(np.uint8).reshape(count, 2)
        values = gguf.quants.dequantize(blocks.reshape(1, -1), kind).astype(np.float32)
        assert np.isfinite(values).all(), kind
        arrays[kind.name + ".blocks"] = blocks.reshape(-1)
        arrays[kind.name + ".values"] = values.reshape(-1)
    save_file(arrays, ROOT / "golden" / "gguf_quants.safetensors")


def paired(x, heads):
    """LlamaModel.permute of convert_hf_to_gguf.py."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def thirds(x, heads):
    """BloomModel: rows (head, q|k|v, i) become (q|k|v, head, i)."""
    return x.reshape(heads, 3, x.shape[0] // heads // 3, *x.shape[1:]).swapaxes(0, 1).reshape(x.shape)


def q_k_v(x, heads, kv_heads):
    """FalconModel: rows (group, its queries | k | v, i) become (queries | k | v)."""
    group = x.reshape(kv_heads, heads // kv_heads + 2, -1, *x.shape[1:])
    parts = (group[:, :-2], group[:, -2:-1], group[:, -1:])
    return np.concatenate([part.reshape(-1, *x.shape[1:]) for part in parts])


def kv_heads(c):
    if c.get("new_decoder_architecture"):
        return c["num_kv_heads"]
    return 1 if c.get("multi_query") else c.get("num_key_value_heads") or c["num_attention_heads"]


def names(arch, layers):
    return gguf.get_tensor_name_map(arch, layers)


def write_vocab(w, folder, kind):
    t = json.loads((folder / "tokenizer.json").read_text())
    vocab = sorted(t["model"]["vocab"].items(), key=lambda kv: kv[1])
    special = {a["id"] for a in t["added_tokens"] if a["special"]}
    types = [3 if i in special else 1 for _, i in vocab]
    tokens = [token for token, _ in vocab]
    if kind == "bert":  # BertModel.set_vocab
        tokens = [x if i in special else x[2:] if x.startswith("##") else "\u2581" + x for i, x in enumerate(tokens)]
        w.add_token_type_count(2)
        w.add_bos_token_id(t["model"]["vocab"]["[CLS]"])
        w.add_sep_token_id(t["model"]["vocab"]["[SEP]"])
        w.add_unk_token_id(t["model"]["vocab"]["[UNK]"])
    w.add_tokenizer_model(kind)
    if kind == "gpt2":
        w.add_tokenizer_pre("gpt-2")
        w.add_bos_token_id(1)
        w.add_eos_token_id(2)
        w.add_add_bos_token("TemplateProcessing" in json.dumps(t["post_processor"]))
        w.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in t["model"]["merges"]])
    w.add_token_list(tokens)
    w.add_token_types(types)


PAIRED = ("llama", "olmo", "granite", "smollm3", "granitemoe", "arcee", "mistral3")  # LlamaModel and what descends from it


def more_fields(w, c):
    """What only some architectures have: GraniteModel, OlmoModel, MPTModel, CommandR2Model, GPTNeoXModel, …"""
    for field, add in (("attention_multiplier", w.add_attention_scale), ("embedding_multiplier", w.add_embedding_scale),
                       ("residual_multiplier", w.add_residual_scale), ("logits_scaling", w.add_logit_scale),
                       ("clip_qkv", w.add_clamp_kqv), ("num_local_experts", w.add_expert_count),
                       ("num_experts", w.add_expert_count), ("num_experts_per_tok", w.add_expert_used_count)):
        if c.get(field) is not None:
            add(c[field])
    if c.get("moe_intermediate_size"):
        w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    if c.get("shared_expert_intermediate_size"):
        w.add_expert_shared_feed_forward_length(c["shared_expert_intermediate_size"])
    if c["model_type"] in ("exaone4", "olmo3") and c["sliding_window"]:
        w.add_sliding_window_pattern([kind == "sliding_attention" for kind in c["layer_types"]])
    if c["model_type"] == "cohere2":
        w.add_logit_scale(c["logit_scale"])
        w.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    if c["model_type"] == "cohere":
        w.add_logit_scale(c["logit_scale"])
        w.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    if c["model_type"] in ("gpt_neox", "stablelm"):
        w.add_parallel_residual(c["use_parallel_residual"])
    if c["model_type"] == "mpt":
        w.add_max_alibi_bias(c["attn_config"]["alibi_bias_max"])
        if c["attn_config"]["clip_qkv"] is not None:
            w.add_clamp_kqv(c["attn_config"]["clip_qkv"])


def halved(weights):
    """Granite-MoE's gates and linear branches."""
    out = {}
    for key, x in weights.items():
        if key.endswith("input_linear.weight"):
            for part, y in zip(("w1", "w3"), np.split(x, 2, axis=1)):
                out[key.replace("input_linear", "experts." + part)] = y
        else:
            out[key] = x
    return out


def together(weights):
    """Experts of a layer, and norms of heads, become one tensor."""
    out, parts = {}, {}
    for key, x in weights.items():
        found = re.search(r"\.(experts|layernorm\.norms|norms)\.(\d+)\.", key)
        if not found:
            out[key] = x
            continue
        kept = ".experts." if found[1] == "experts" else "."
        parts.setdefault(key[:found.start()] + kept + key[found.end():], {})[int(found[2])] = x
    for key, each in parts.items():
        out[key] = np.stack([each[i] for i in range(len(each))])
    return out


LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}


def llama3_factors(rope, theta, size):
    """What LlamaModel.generate_extra_tensors writes for a rotation stretched as Llama 3.1's."""
    wavelength = 2 * np.pi * theta ** (np.arange(0, size, 2) / size)
    smooth = (rope["original_max_position_embeddings"] / wavelength - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
    return (1 / ((1 - smooth.clip(0, 1)) / rope["factor"] + smooth.clip(0, 1))).astype(np.float32)


def fixture(name, arch, kind="gpt2", quantize=None, parts_of=None, stretched=None):
    """`parts_of`: so many tensors a file, in a folder of its own; `stretched`: the rotation of a Llama."""
    folder = MODELS / name
    c = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    layers = c.get("num_hidden_layers", c.get("n_layer", c.get("n_layers")))
    heads = c.get("num_attention_heads", c.get("n_head", c.get("n_heads")))
    arch_name = gguf.MODEL_ARCH_NAMES[arch]
    out = OUT / f"{name}-parts" if parts_of else OUT
    out.mkdir(exist_ok=True)
    stem = name + "-stretched" if stretched else name
    w = gguf.GGUFWriter(str(out / f"{stem}.gguf"), arch_name, split_max_tensors=parts_of or 0)
    if stretched:
        theta = c["rope_parameters"]["rope_theta"]
        w.add_tensor("rope_freqs.weight", llama3_factors(stretched, theta, c["head_dim"]))
    width = c.get("hidden_size", c.get("n_embd", c.get("d_model")))
    w.add_block_count(layers)
    w.add_context_length(c.get("max_position_embeddings", c.get("n_positions", c.get("max_seq_len", 2048))))
    w.add_embedding_length(width)
    w.add_feed_forward_length(c.get("intermediate_size") or c.get("n_inner") or c.get("ffn_hidden_size") or 4 * width)
    w.add_head_count(heads)
    if "rms_norm_eps" in c:
        w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    else:
        w.add_layer_norm_eps(c.get("layer_norm_eps", c.get("layer_norm_epsilon", 1e-5)))
    more_fields(w, c)
    if arch_name not in ("gpt2", "bloom", "bert", "mpt"):
        if arch_name not in ("gptneox", "nomic-bert"):
            w.add_head_count_kv(kv_heads(c))
        rope = c.get("rope_parameters") or {k: c[k] for k in ("rope_theta", "partial_rotary_factor") if k in c}
        rope = rope.get("full_attention", rope)
        if "rope_theta" in rope:
            # HunYuan's stretched base
            stretch = rope.get("alpha", 1) ** (c["head_dim"] / (c["head_dim"] - 2)) if "alpha" in rope else 1
            w.add_rope_freq_base(rope["rope_theta"] * stretch)
        if c["model_type"] == "olmo3":
            w.add_rope_freq_base_swa(c["rope_parameters"]["sliding_attention"]["rope_theta"])
        if rope.get("rope_type") == "yarn":
            w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
            w.add_rope_scaling_factor(rope["factor"])
            w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
            w.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
            w.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
        if "llama_4_scaling_beta" in rope:
            w.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
            w.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
        if rope.get("rope_type") == "linear":
            w.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            w.add_rope_scaling_factor(rope["factor"])
        if "partial_rotary_factor" in rope:
            w.add_rope_dimension_count(int(rope["partial_rotary_factor"] * (c.get("head_dim") or width // heads)))
        if rope.get("rope_type") == "longrope":  # Phi3MiniModel
            w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
            stretch = c["max_position_embeddings"] / rope["original_max_position_embeddings"]
            w.add_rope_scaling_attn_factors((1 + np.log(stretch) / np.log(rope["original_max_position_embeddings"])) ** 0.5)
            for side in ("long", "short"):
                w.add_tensor(f"rope_factors_{side}.weight", np.array(rope[side + "_factor"], dtype=np.float32))
    if c.get("head_dim"):
        w.add_key_length(c["head_dim"])
    if c.get("sliding_window"):
        w.add_sliding_window(c["sliding_window"])
    if c.get("final_logit_softcapping"):
        w.add_attn_logit_softcapping(c["attn_logit_softcapping"])
        w.add_final_logit_softcapping(c["final_logit_softcapping"])
    write_vocab(w, folder, kind)
    mapping = names(arch, layers)
    tied = c.get("tie_word_embeddings", True)
    for key, x in together(halved(weights)).items():
        if "pooler" in key or (tied and key.startswith("lm_head")) or key.endswith(".attn.bias") or key.startswith("cls."):
            continue
        stem = key.removeprefix("transformer.").removeprefix("nomic_bert.").removeprefix("bert.")
        new = mapping.get_name(stem, try_suffixes=(".weight", ".bias")) or mapping.get_name(key, try_suffixes=(".weight", ".bias"))
        assert new, key
        if arch_name in PAIRED and ".q_proj." in key:
            x = paired(x, heads)
        if arch_name in PAIRED and ".k_proj." in key:
            x = paired(x, c["num_key_value_heads"])
        if arch_name == "gpt2" and x.ndim == 2 and ("c_attn" in key or "c_proj" in key or "c_fc" in key):
            x = x.T
        if (arch_name.startswith("gemma") or arch_name == "nemotron" and key.endswith(".weight")) and "norm" in key:
            x = x + 1
        if arch_name == "falcon" and "query_key_value" in key:
            x = q_k_v(x, heads, kv_heads(c))
        if arch_name in ("bloom", "gptneox") and "query_key_value" in key:
            x = thirds(x, heads)
        x = np.ascontiguousarray(x, dtype=np.float32)
        if quantize and x.ndim == 2 and x.shape[-1] % 32 == 0:
            w.add_tensor(new, gguf.quants.quantize(x, quantize), raw_dtype=quantize)
        else:
            w.add_tensor(new, x)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def deepseek(name, whole_kv):
    """DeepseekV2Model. `whole_kv`: as files were before kv_b_proj was written in two parts."""
    folder = MODELS / name
    c = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    layers, heads = c["num_hidden_layers"], c["num_attention_heads"]
    content, rotary, value, rank = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"], c["kv_lora_rank"]
    w = gguf.GGUFWriter(str(OUT / f"{name}.gguf"), "deepseek2")
    w.add_block_count(layers)
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(heads)
    w.add_head_count_kv(heads if whole_kv else 1)
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_leading_dense_block_count(c["first_k_dense_replace"])
    w.add_vocab_size(c["vocab_size"])
    if c["q_lora_rank"] is not None:
        w.add_q_lora_rank(c["q_lora_rank"])
    w.add_kv_lora_rank(rank)
    w.add_key_length(content + rotary if whole_kv else rank + rotary)
    w.add_value_length(value if whole_kv else rank)
    if not whole_kv:
        w.add_key_length_mla(content + rotary)
        w.add_value_length_mla(value)
    w.add_expert_feed_forward_length(c["moe_intermediate_size"])
    w.add_expert_count(c["n_routed_experts"])
    w.add_expert_used_count(c["num_experts_per_tok"])
    w.add_expert_shared_count(c["n_shared_experts"])
    w.add_expert_weights_scale(c["routed_scaling_factor"])
    w.add_expert_weights_norm(c["norm_topk_prob"])
    w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID if "v3" in name else gguf.ExpertGatingFuncType.SOFTMAX)
    if c["n_group"] is not None:
        w.add_expert_group_count(c["n_group"])
        w.add_expert_group_used_count(c["topk_group"])
    w.add_rope_dimension_count(rotary)
    rope = c["rope_parameters"]
    w.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "yarn":
        w.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        w.add_rope_scaling_factor(rope["factor"])
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        w.add_rope_scaling_yarn_log_mul(0.1 * rope.get("mscale_all_dim", 0))
        w.add_rope_scaling_yarn_beta_fast(rope["beta_fast"])
        w.add_rope_scaling_yarn_beta_slow(rope["beta_slow"])
    write_vocab(w, folder, "gpt2")
    mapping = names(gguf.MODEL_ARCH.DEEPSEEK2, layers)
    experts = {}

    def add(key, x):
        new = mapping.get_name(key, try_suffixes=(".weight", ".bias"))
        assert new, key
        w.add_tensor(new, np.ascontiguousarray(x, dtype=np.float32))
    for key, x in sorted(weights.items()):
        key = key.replace("e_score_correction_bias", "e_score_correction.bias")
        if ".mlp.experts." in key:
            before, number, part = key.split(".experts.")[0], *key.split(".experts.")[1].split(".", 1)
            experts.setdefault(f"{before}.experts.{part}", {})[int(number)] = x
        elif key.endswith("kv_b_proj.weight") and not whole_kv:
            kv = x.reshape(heads, content + value, rank)
            add(key.replace("kv_b_proj", "k_b_proj"), kv[:, :content].transpose(0, 2, 1))
            add(key.replace("kv_b_proj", "v_b_proj"), kv[:, content:])
        else:
            add(key, x)
    for key, parts in experts.items():
        add(key, np.stack([parts[i] for i in range(c["n_routed_experts"])]))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    quants()
    deepseek("deepseek-v2", whole_kv=True)
    for name in ("deepseek-v2-groups", "deepseek-v3"):
        deepseek(name, whole_kv=False)
    fixture("llama-kv2", gguf.MODEL_ARCH.LLAMA)
    fixture("llama-kv2", gguf.MODEL_ARCH.LLAMA, parts_of=9)
    fixture("llama-kv2", gguf.MODEL_ARCH.LLAMA, stretched=LLAMA3)
    fixture("llama-mha", gguf.MODEL_ARCH.LLAMA)
    fixture("gpt2", gguf.MODEL_ARCH.GPT2)
    fixture("bloom", gguf.MODEL_ARCH.BLOOM)
    for name in ("qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3", "falcon"):
        fixture(name, getattr(gguf.MODEL_ARCH, name.upper()))
    fixture("falcon-groups", gguf.MODEL_ARCH.FALCON)  # as the 40B: groups of heads, two norms
    fixture("phi", gguf.MODEL_ARCH.PHI2)
    fixture("gpt-bigcode", gguf.MODEL_ARCH.STARCODER)
    fixture("bert", gguf.MODEL_ARCH.BERT, kind="bert")
    for name in ("olmo", "olmo2", "granite", "smollm3", "stablelm", "mpt"):
        fixture(name, getattr(gguf.MODEL_ARCH, name.upper()))
    for name in ("stablelm-heads", "stablelm-parallel"):
        fixture(name, gguf.MODEL_ARCH.STABLELM)
    fixture("mixtral", gguf.MODEL_ARCH.LLAMA)
    for name, arch in (("qwen3-moe", "QWEN3MOE"), ("olmoe", "OLMOE"), ("granitemoe", "GRANITE_MOE"),
                       ("starcoder2", "STARCODER2"), ("glm", "CHATGLM"), ("glm4", "GLM4"), ("cohere2", "COHERE2"),
                       ("ernie4_5", "ERNIE4_5"), ("exaone4", "EXAONE4"), ("seed-oss", "SEED_OSS"), ("nemotron", "NEMOTRON"),
                       ("arcee", "ARCEE"), ("hunyuan", "HUNYUAN_DENSE"), ("ministral3", "MISTRAL3"), ("olmo3", "OLMO2")):
        fixture(name, getattr(gguf.MODEL_ARCH, arch))
    fixture("cohere", gguf.MODEL_ARCH.COMMAND_R)
    fixture("gpt-neox", gguf.MODEL_ARCH.GPTNEOX)
    fixture("gpt-neox-serial", gguf.MODEL_ARCH.GPTNEOX)
    fixture("nomic-bert", gguf.MODEL_ARCH.NOMIC_BERT, kind="bert")


if __name__ == "__main__":
    main()
