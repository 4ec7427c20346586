// SPDX-License-Identifier: GPL-3.0-or-later
// GLM-4 (9B): Llama with neighbours as pairs in half of each head, and gate and linear branch in one matrix. GLM-4-0414 (glm4):
// with norms of what attention and MLP write too.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace glm {

ModelConfig parse_glm(const ConfigReader& json) {
    ModelConfig c =
        llama_config(json, {.kv_heads = 2, .d_head = 128, .context = 131072, .epsilon = 0.00000015625, .rope_share = 0.5});
    c.rope_interleaved = true;
    c.query_bias = json.flag("attention_bias", true);
    return c;
}

ModelConfig parse_glm4(const ConfigReader& json) {
    ModelConfig c = parse_glm(json);
    c.branch_norm = true;
    return c;
}

WeightMap glm_map(const ModelConfig& c) { return llama_map(c, {.fused_mlp = true}); }

WeightMap glm4_map(const ModelConfig& c) {
    return llama_map(c, {.fused_mlp = true, .ln1_post = "post_self_attn_layernorm", .ln2_post = "post_mlp_layernorm"});
}

constexpr std::string_view kGlmNames[] = {"GlmForCausalLM", "GlmModel"};
constexpr std::string_view kGlm4Names[] = {"Glm4ForCausalLM", "Glm4Model"};

}  // namespace glm

const Family kGlm = {"glm", glm::kGlmNames, "glm", glm::parse_glm, glm::glm_map, llama_spec};
const Family kGlm4 = {"glm4", glm::kGlm4Names, "glm4", glm::parse_glm4, glm::glm4_map, llama_spec};

}  // namespace headlight::model
