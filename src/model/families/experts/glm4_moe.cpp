// SPDX-License-Identifier: GPL-3.0-or-later
// GLM-4.5 and 4.6 (glm4_moe): Llama with DeepSeek-V3's experts behind some dense layers; half of each head rotates, and queries
// and keys may be normalised.
#include "model/families/decoders/llama_shape.h"
#include "model/families/experts/experts.h"

namespace headlight::model {
namespace glm4_moe {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 8, .context = 131072, .epsilon = 1e-5, .rope_share = 0.5});
    c.query_bias = json.flag("attention_bias", false);
    if (json.flag("use_qk_norm", false)) c.qk_norm = QkNorm::head;
    read_grouped_experts(json, c,
                         {.dense_layers = 1, .shared = 1, .sigmoid = true, .scale = 1.0, .groups = 1, .groups_chosen = 1});
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map = llama_map(c);
    add_grouped_experts(map, c);
    return map;
}

constexpr std::string_view kArchitectures[] = {"Glm4MoeForCausalLM", "Glm4MoeModel"};

}  // namespace glm4_moe

const Family kGlm4Moe = {"glm4_moe", glm4_moe::kArchitectures, "glm4_moe", glm4_moe::parse_config, glm4_moe::weight_map,
                         llama_spec};

}  // namespace headlight::model
