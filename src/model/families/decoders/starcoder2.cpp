// SPDX-License-Identifier: GPL-3.0-or-later
// StarCoder 2: Mistral with LayerNorms, biases and an MLP without a gate.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace starcoder2 {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 2,
                                        .context = 4096,
                                        .tied = true,
                                        .epsilon_field = "norm_epsilon",
                                        .epsilon = 1e-5,
                                        .activation = "gelu_pytorch_tanh"});
    c.norm = Norm::layer_norm;
    c.gated_mlp = false;
    c.query_bias = c.mlp_bias = json.flag("use_bias", true);
    read_window(json, c, std::nullopt);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    return llama_map(c, {.o_bias = c.query_bias, .norm_bias = true, .mlp_in = "c_fc", .mlp_out = "c_proj"});
}

constexpr std::string_view kArchitectures[] = {"Starcoder2ForCausalLM", "Starcoder2Model"};

}  // namespace starcoder2

const Family kStarcoder2 = {
    "starcoder2", starcoder2::kArchitectures, "starcoder2", starcoder2::parse_config, starcoder2::weight_map, llama_spec};

}  // namespace headlight::model
