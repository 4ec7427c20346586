// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace headlight::model {

enum class Positions { learned, alibi, rotary, none };
enum class Norm { layer_norm, rms_norm };
/// gelu: erf form; gelu_tanh: tanh form (GPT-2's gelu_new); gelu_bloom: the same with sqrt(2/pi) cut to 0.79788456.
enum class Activation { gelu, gelu_tanh, gelu_bloom, relu, silu };
enum class RopeScaling { none, linear, llama3 };

/// Everything about a model that is not a weight, whatever the family calls it. Filled by a family's parse_config.
struct ModelConfig {
    std::string family;        ///< registry name: "bloom", "gpt2", "bert", "llama"
    std::string architecture;  ///< as config.json says: "BloomForCausalLM"
    std::string name;          ///< what people call it: the folder's name

    std::int64_t n_layers = 0;
    std::int64_t d_model = 0;
    std::int64_t n_heads = 0;     ///< query heads
    std::int64_t n_kv_heads = 0;  ///< key/value heads; query head h reads kv head h / (n_heads / n_kv_heads)
    std::int64_t d_head = 0;
    std::int64_t d_mlp = 0;
    std::int64_t vocab_size = 0;
    std::int64_t type_vocab_size = 0;  ///< token types (BERT); 0: none

    std::int64_t context_length = 0;   ///< positions the model was made for; 0: not said
    bool context_is_hard_limit = true; ///< false for ALiBi and rotary: longer input runs with a warning

    bool causal = true;
    bool post_norm = false;      ///< BERT: resid_mid = LN(x + attn_out)
    bool embed_norm = false;     ///< BLOOM, BERT: LayerNorm right after the embedding
    bool residual_after_norm = false;  ///< BLOOM's apply_residual_connection_post_layernorm
    bool gated_mlp = false;      ///< Llama: post = act(pre) * pre_linear
    bool query_bias = false;     ///< q, k, v and the output projection have biases
    bool mlp_bias = true;
    bool final_norm = true;
    bool tied_unembedding = false;
    bool has_unembedding = true; ///< false: no logits (sentence encoders)
    bool mlm_head = false;       ///< BERT: dense, activation and LayerNorm before the unembedding

    Norm norm = Norm::layer_norm;
    double norm_epsilon = 1e-5;
    Activation activation = Activation::gelu;
    Positions positions = Positions::learned;
    double rope_theta = 10000.0;
    std::int64_t rope_dims = 0;     ///< rotated part of d_head
    RopeScaling rope_scaling = RopeScaling::none;
    double rope_factor = 1.0;       ///< linear, llama3
    double rope_low_freq_factor = 1.0, rope_high_freq_factor = 4.0;  ///< llama3
    std::int64_t rope_original_context = 0;                          ///< llama3
    double score_scale = 1.0;       ///< score = score_scale * q.k + bias; 1/sqrt(d_head) in most models
};

}  // namespace headlight::model
