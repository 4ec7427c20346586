// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by decoders like Llama: fields of config.json and names of tensors.
#pragma once

#include "model/families/registry.h"
#include "model/load/config_reader.h"

#include <optional>
#include <string_view>

namespace headlight::model {

/// Values of fields that config.json lacks; families differ.
struct LlamaDefaults {
    std::optional<std::int64_t> kv_heads = {};  ///< as many as query heads
    std::optional<std::int64_t> d_head = {};    ///< d_model / n_heads
    std::int64_t context = 2048;
    bool tied = false;
    std::string_view epsilon_field = "rms_norm_eps";
    double epsilon = 1e-6;
    std::string_view activation_field = "hidden_act";
    std::string_view activation = "silu";
    double rope_theta = 10000.0;
    std::optional<double> rope_share = {};  ///< of models that may rotate a part of each head
};
/// Gated MLP, RMSNorm, rotary positions, grouped heads. Biases are off.
ModelConfig llama_config(const ConfigReader&, const LlamaDefaults& = {});

struct LlamaRows {
    bool o_bias = false;  ///< biases of q, k, v and of the MLP follow the configuration
    bool norm_bias = false;
    double gain_plus = 0;    ///< gains are this plus what is stored (Gemma: 1)
    bool fused = false;      ///< q, k, v in one tensor, gate and linear branch in another (Phi-3)
    bool fused_mlp = false;  ///< only these two (GLM)
    bool head_bias = false;  ///< of the unembedding
    std::string_view ln1 = "input_layernorm", ln1_post = {}, ln2 = "post_attention_layernorm", ln2_post = {};
    std::string_view q_norm = "q_norm", k_norm = "k_norm";
    std::string_view mlp = "mlp.";
    std::string_view mlp_in = "gate_proj", mlp_up = "up_proj", mlp_out = "down_proj";  ///< without a gate: mlp_in and mlp_out
};
/// Rows for all parts that the configuration enables.
WeightMap llama_map(const ModelConfig&, const LlamaRows& = {});

/// llama_map() of a model whose attention output has a bias where q, k and v have one.
WeightMap llama_weights(const ModelConfig&);

Spec llama_spec(const ModelConfig&);

/// "sliding_window" over all layers; `fallback` where the field is absent (null: none).
void read_window(const ConfigReader&, ModelConfig&, std::optional<std::int64_t> fallback);
/// Qwen's: "use_sliding_window", from layer "max_window_layers" on, or "layer_types".
void read_qwen_windows(const ConfigReader&, ModelConfig&);

}  // namespace headlight::model
