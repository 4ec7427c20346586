# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations of released models that differ from their family's others (make_golden.py), one fixture each."""
from transformers.models.mpt import modeling_mpt


def with_own_largest(self, heads, tokens, alibi_bias_max=8, device=None):
    """As the authors' code computes it: transformers takes 8 whatever attn_config.alibi_bias_max says."""
    return modeling_mpt.build_mpt_alibi_tensor(heads, tokens, self.config.attn_config.alibi_bias_max, device)


modeling_mpt.MptModel.build_mpt_alibi_tensor = with_own_largest


def tiny(T):
    """name: (class, config class, fields, dtype on disk, largest shard)"""
    falcon = dict(hidden_size=24, num_hidden_layers=2, ffn_hidden_size=20, alibi=True)
    opt = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, ffn_dim=20, max_position_embeddings=46)
    bert = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, max_position_embeddings=40)
    table = {
        # stanford-crfm's GPT-2 models (alias, battlestar, ...).
        "gpt2-inverse-layers": (T.GPT2LMHeadModel, T.GPT2Config,
                                dict(n_embd=16, n_layer=3, n_head=2, n_positions=40, scale_attn_by_inverse_layer_idx=True,
                                     reorder_and_upcast_attn=True)),
        # falcon-rw-1b; twelve heads are no power of two: the slopes' second series, with numbers that bfloat16 rounds.
        "falcon-alibi": (T.FalconForCausalLM, T.FalconConfig,
                         dict(falcon, num_attention_heads=12, multi_query=False, parallel_attn=False, bias=True)),
        # mpt-7b-storywriter.
        "mpt-16": (T.MptForCausalLM, T.MptConfig, dict(d_model=16, n_heads=4, n_layers=2, max_seq_len=48,
                                                       attn_config=dict(alibi=True, clip_qkv=6, alibi_bias_max=16))),
        # opt-350m.
        "opt-post-norm": (T.OPTForCausalLM, T.OPTConfig, dict(opt, word_embed_proj_dim=12, do_layer_norm_before=False)),
        # Galactica's fields.
        "opt-plain": (T.OPTForCausalLM, T.OPTConfig, dict(opt, word_embed_proj_dim=16, enable_bias=False, activation_function="gelu",
                                                          layer_norm_elementwise_affine=False)),
        # stablelm-2-12b.
        "stablelm-heads": (T.StableLmForCausalLM, T.StableLmConfig,
                           dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                intermediate_size=20, max_position_embeddings=64, use_parallel_residual=True,
                                qk_layernorm=True)),
        # bert-base-uncased-embedding-relative-key and -key-query (Huang et al. 2020).
        "bert-relative": (T.BertModel, T.BertConfig, dict(bert, position_embedding_type="relative_key")),
        "bert-relative-query": (T.BertForMaskedLM, T.BertConfig, dict(bert, position_embedding_type="relative_key_query")),
    }
    return {name: (*row, "float32", None) for name, row in table.items()}
