// SPDX-License-Identifier: GPL-3.0-or-later
// OLMo: Llama with LayerNorms that have no parameters, and clipped q, k and v. OLMo 2: RMSNorms of what attention and
// MLP write instead of what they read, and of the concatenated queries and keys of all heads.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace olmo {

ModelConfig parse_olmo(const ConfigReader& json) {
    ModelConfig c = llama_config(json);
    c.query_bias = json.flag("attention_bias", false);
    c.norm = Norm::layer_norm;
    c.norm_epsilon = 1e-5;
    c.norm_gain = false;
    if (json.has("clip_qkv")) c.qkv_clip = json.number({"clip_qkv"});
    return c;
}

ModelConfig parse_olmo2(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.epsilon = 1e-5});
    c.query_bias = json.flag("attention_bias", false);
    c.input_norm = false;
    c.branch_norm = true;
    c.qk_norm = QkNorm::whole;
    return c;
}

WeightMap olmo2_map(const ModelConfig& c) {
    return llama_map(
        c, {.o_bias = c.query_bias, .ln1_post = "post_attention_layernorm", .ln2 = {}, .ln2_post = "post_feedforward_layernorm"});
}

constexpr std::string_view kOlmoNames[] = {"OlmoForCausalLM", "OlmoModel"};
constexpr std::string_view kOlmo2Names[] = {"Olmo2ForCausalLM", "Olmo2Model"};

}  // namespace olmo

const Family kOlmo = {"olmo", olmo::kOlmoNames, "olmo", olmo::parse_olmo, llama_weights, llama_spec};
const Family kOlmo2 = {"olmo2", olmo::kOlmo2Names, "olmo2", olmo::parse_olmo2, olmo::olmo2_map, llama_spec};

}  // namespace headlight::model
