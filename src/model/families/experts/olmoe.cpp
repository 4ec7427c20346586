// SPDX-License-Identifier: GPL-3.0-or-later
// OLMoE: Llama with experts, and an RMSNorm of the concatenated queries and keys of all heads, which are clipped behind it.
#include "model/families/decoders/llama_shape.h"
#include "model/families/experts/experts.h"

namespace headlight::model {
namespace olmoe {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.context = 4096, .epsilon = 1e-5});
    c.query_bias = json.flag("attention_bias", false);
    c.qk_norm = QkNorm::whole;
    if (json.has("clip_qkv")) {
        c.qkv_clip = json.number({"clip_qkv"});
        c.clip_normed = true;
    }
    c.experts = {.count = json.size({"num_experts", "num_local_experts"}, kMaxExperts, 64),
                 .chosen = json.size({"num_experts_per_tok"}, kMaxExperts, 8),
                 .width = c.d_mlp,
                 .normalized = json.flag("norm_topk_prob", false)};
    finish_experts(json, c, "num_experts_per_tok", "num_experts");
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map = llama_weights(c);
    add_expert_rows(map, c, kExpertNames);
    return map;
}

constexpr std::string_view kArchitectures[] = {"OlmoeForCausalLM", "OlmoeModel"};

}  // namespace olmoe

const Family kOlmoe = {"olmoe", olmoe::kArchitectures, "olmoe", olmoe::parse_config, olmoe::weight_map, llama_spec};

}  // namespace headlight::model
