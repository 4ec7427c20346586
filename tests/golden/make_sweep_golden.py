# SPDX-License-Identifier: GPL-3.0-or-later
"""Every grid of TransformerLens' patching.py on fixtures shaped like GPT-2, Llama and GPT-NeoX, weights unprocessed.

Writes tests/golden/sweep/NAME.json: the token ids, the answers, the metric (logit difference at the last token) of the clean and of
the corrupt run and, for each grid, the metric after every patch, flat, in TransformerLens' order of axes.

    python tests/golden/make_sweep_golden.py
"""

import json
import pathlib

import torch
from transformer_lens import HookedTransformer, HookedTransformerConfig, patching
from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights, convert_llama_weights, convert_neox_weights
from transformers import AutoModelForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLEAN = [5, 9, 31, 17, 60, 44, 23, 12]
CORRUPT = [5, 9, 77, 17, 60, 101, 23, 12]
ANSWER, WRONG = 40, 140


def config_of(c):
    common = dict(n_ctx=40, d_vocab=c.vocab_size, attn_only=False, seed=0, dtype=torch.float64, device="cpu")
    if c.model_type == "gpt2":
        return HookedTransformerConfig(
            n_layers=c.n_layer, d_model=c.n_embd, n_heads=c.n_head, d_head=c.n_embd // c.n_head, d_mlp=4 * c.n_embd,
            act_fn="gelu_new", eps=c.layer_norm_epsilon, normalization_type="LN", **common)
    rotary = c.rope_parameters
    heads, width = c.num_attention_heads, c.hidden_size // c.num_attention_heads
    dims = int(width * rotary.get("partial_rotary_factor", 1.0))
    neox = c.model_type == "gpt_neox"
    return HookedTransformerConfig(
        n_layers=c.num_hidden_layers, d_model=c.hidden_size, n_heads=heads, d_head=width, d_mlp=c.intermediate_size,
        act_fn="gelu" if neox else "silu", eps=c.layer_norm_eps if neox else c.rms_norm_eps,
        normalization_type="LN" if neox else "RMS", positional_embedding_type="rotary", rotary_dim=dims,
        rotary_base=rotary["rope_theta"], rotary_adjacent_pairs=False, parallel_attn_mlp=neox, gated_mlp=not neox,
        final_rms=not neox, **common)


def hooked(name):
    torch.set_default_dtype(torch.float64)
    hf = AutoModelForCausalLM.from_pretrained(ROOT / "tests/fixtures/models" / name, dtype=torch.float64,
                                              attn_implementation="eager").eval()
    if not hasattr(hf, "embed_out"):  # as TransformerLens 2 calls it
        hf.embed_out = hf.get_output_embeddings()
    cfg = config_of(hf.config)
    convert = {"gpt2": convert_gpt2_weights, "llama": convert_llama_weights, "gpt_neox": convert_neox_weights}
    model = HookedTransformer(cfg)
    state = {k: v.to(torch.float64) if v.is_floating_point() else v for k, v in convert[hf.config.model_type](hf, cfg).items()}
    model.load_state_dict(state, strict=False)
    factor = (getattr(hf.config, "rope_parameters", None) or {}).get("factor", 1.0)
    for block in model.blocks if cfg.positional_embedding_type == "rotary" else ():
        angle = torch.arange(cfg.n_ctx) / factor
        freq = cfg.rotary_base ** (-torch.arange(0, cfg.rotary_dim, 2) / cfg.rotary_dim)
        angles = torch.cat([torch.outer(angle, freq)] * 2, 1)
        block.attn.rotary_sin, block.attn.rotary_cos = angles.sin(), angles.cos()
    model.eval()
    ids = torch.tensor([CLEAN])
    with torch.no_grad():
        ours, theirs = model(ids), hf(ids).logits
    # transformers takes norms and angles in float32.
    assert (ours - theirs).abs().max() < 1e-5, (name, (ours - theirs).abs().max())
    return model


def metric(logits):
    return logits[0, -1, ANSWER] - logits[0, -1, WRONG]


def golden(name):
    model = hooked(name)
    clean, corrupt = torch.tensor([CLEAN]), torch.tensor([CORRUPT])
    with torch.no_grad():
        logits, cache = model.run_with_cache(clean)
        out = {"clean": CLEAN, "corrupt": CORRUPT, "answer": ANSWER, "wrong": WRONG, "clean_metric": metric(logits).item(),
               "corrupt_metric": metric(model(corrupt)).item(), "grids": {}}
        p = patching
        grids = {
            "resid_pre": p.get_act_patch_resid_pre, "resid_mid": p.get_act_patch_resid_mid,
            "attn_out": p.get_act_patch_attn_out, "mlp_out": p.get_act_patch_mlp_out, "block_every": p.get_act_patch_block_every,
            "z": p.get_act_patch_attn_head_out_all_pos, "q": p.get_act_patch_attn_head_q_all_pos,
            "k": p.get_act_patch_attn_head_k_all_pos, "v": p.get_act_patch_attn_head_v_all_pos,
            "pattern": p.get_act_patch_attn_head_pattern_all_pos, "head_every": p.get_act_patch_attn_head_all_pos_every,
            "z_by_position": p.get_act_patch_attn_head_out_by_pos, "q_by_position": p.get_act_patch_attn_head_q_by_pos,
            "k_by_position": p.get_act_patch_attn_head_k_by_pos, "v_by_position": p.get_act_patch_attn_head_v_by_pos,
            "head_every_by_position": p.get_act_patch_attn_head_by_pos_every,
            "pattern_by_destination": p.get_act_patch_attn_head_pattern_by_pos,
            "pattern_by_edge": p.get_act_patch_attn_head_pattern_dest_src_pos,
        }
        for grid, patch in grids.items():
            if grid == "resid_mid" and model.cfg.parallel_attn_mlp:
                continue
            values = patch(model, corrupt, cache, metric)
            out["grids"][grid] = {"shape": list(values.shape), "values": [round(v, 12) for v in values.flatten().tolist()]}
    file = ROOT / "tests/golden/sweep" / f"{name}.json"
    file.write_text(json.dumps(out, separators=(",", ":")) + "\n")
    print(name, file.stat().st_size, out["clean_metric"], out["corrupt_metric"])


for fixture in ("gpt2", "llama-mha", "gpt-neox"):
    golden(fixture)
