# SPDX-License-Identifier: GPL-3.0-or-later
"""Goldens of MLPs that are made of experts (decoders.py): one axis for the hidden units of all experts, those of the shared
expert last, 0 where an expert was not chosen."""
import torch
from torch.nn.functional import linear


def mlp(g, name, block, r):
    """hook_router to hook_post of a layer with experts; the sum over all units is checked against what the block gave."""
    x = r.into(block)
    router = block.gate if hasattr(block, "gate") else block.router
    logits, weights, chosen = router(x)
    routed = torch.zeros_like(logits).scatter(1, chosen, weights.to(logits.dtype))
    g[name + "mlp.hook_router"], g[name + "mlp.hook_experts"] = logits, routed
    experts = block.experts
    act = experts.act_fn
    pre, up, post, values = [], [], [], []
    for e in range(experts.num_experts):
        works = (routed[:, e] != 0)[:, None]
        gate, linear_branch = linear(x, experts.gate_up_proj[e]).chunk(2, dim=-1)
        pre.append(gate * works)
        up.append(linear_branch * works)
        post.append(act(pre[-1]) * up[-1] * routed[:, e:e + 1])
        values.append(experts.down_proj[e].T)
    shared = getattr(block, "shared_expert", None)
    if shared is not None:
        weight = torch.sigmoid(block.shared_expert_gate(x))
        g[name + "mlp.hook_shared_gate"] = weight
        pre.append(shared.gate_proj(x))
        up.append(shared.up_proj(x))
        post.append(act(pre[-1]) * up[-1] * weight)
        values.append(shared.down_proj.weight.T)
    always = getattr(block, "shared_experts", None)  # DeepSeek: several as one, for every token
    if always is not None:
        pre.append(always.gate_proj(x))
        up.append(always.up_proj(x))
        post.append(act(pre[-1]) * up[-1])
        values.append(always.down_proj.weight.T)
    g[name + "mlp.hook_pre"], g[name + "mlp.hook_pre_linear"] = torch.cat(pre, 1), torch.cat(up, 1)
    g[name + "mlp.hook_post"] = torch.cat(post, 1)
    g.same(g[name + "mlp.hook_post"] @ torch.cat(values), r.out_of(block), name + "mlp")


def clamped_mlp(g, name, block, r):
    """The same of GPT-OSS: gate and linear branch in turn, both with biases and cut, and a bias behind each expert."""
    x = r.into(block)
    logits, weights, chosen = block.router(x)
    routed = torch.zeros_like(logits).scatter(1, chosen, weights)
    g[name + "mlp.hook_router"], g[name + "mlp.hook_experts"] = logits, routed
    experts = block.experts
    pre, up, post = [], [], []
    for e in range(experts.num_experts):
        works = (routed[:, e] != 0)[:, None]
        both = x @ experts.gate_up_proj[e] + experts.gate_up_proj_bias[e]
        pre.append(both[:, ::2] * works)
        up.append(both[:, 1::2] * works)
        post.append(experts._apply_gate(both) * routed[:, e:e + 1])
    g[name + "mlp.hook_pre"], g[name + "mlp.hook_pre_linear"] = torch.cat(pre, 1), torch.cat(up, 1)
    g[name + "mlp.hook_post"] = torch.cat(post, 1)
    g.same(g[name + "mlp.hook_post"] @ experts.down_proj.flatten(0, 1) + routed @ experts.down_proj_bias, r.out_of(block), name + "mlp")


KINDS = ("mixtral", "qwen2_moe", "gpt_oss")
EAGER = KINDS + ("deepseek_v2", "deepseek_v3", "qwen3_moe", "olmoe", "granitemoe", "phimoe", "glm4_moe", "llama4_text")  # whose experts transformers may compute in other ways


def tiny(T):
    """As decoders.tiny()."""
    base = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=20,
                max_position_embeddings=64)
    table = {
        "mixtral": (T.MixtralForCausalLM, T.MixtralConfig, dict(
            base, intermediate_size=10, num_local_experts=4, num_experts_per_tok=2, sliding_window=6)),
        # A dense layer in front, one by name among those with experts.
        "qwen2-moe": (T.Qwen2MoeForCausalLM, T.Qwen2MoeConfig, dict(
            base, num_hidden_layers=3, num_experts=5, num_experts_per_tok=2, moe_intermediate_size=6, shared_expert_intermediate_size=8,
            mlp_only_layers=[1], use_sliding_window=True, sliding_window=5, max_window_layers=2)),
        "qwen2-moe-step": (T.Qwen2MoeForCausalLM, T.Qwen2MoeConfig, dict(
            base, num_experts=4, num_experts_per_tok=3, moe_intermediate_size=6, shared_expert_intermediate_size=4,
            decoder_sparse_step=2, norm_topk_prob=True, qkv_bias=False)),
        # Both branches of the MLP reach the cut; a ramp of frequencies with parts of dimensions at its ends.
        "gpt-oss": (T.GptOssForCausalLM, T.GptOssConfig, dict(
            base, head_dim=12, intermediate_size=10, num_local_experts=4, num_experts_per_tok=2, sliding_window=5, swiglu_limit=1.5,
            rope_parameters=dict(rope_type="yarn", rope_theta=100.0, factor=4.0, original_max_position_embeddings=16, beta_fast=2.0,
                                 beta_slow=0.5, truncate=False))),
    }
    return {name: (*row, "float32", None) for name, row in table.items()}
