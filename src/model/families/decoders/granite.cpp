// SPDX-License-Identifier: GPL-3.0-or-later
// Granite: Llama with multipliers on embedding, scores, residual branches and logits. Granite-MoE: the same with experts, which
// lie in two tensors.
#include "model/families/decoders/llama_shape.h"
#include "model/families/experts/experts.h"

namespace headlight::model {
namespace granite {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json);
    c.query_bias = json.flag("attention_bias", false);
    c.mlp_bias = json.flag("mlp_bias", false);
    c.embed_scale = json.number({"embedding_multiplier"}, 1.0);
    c.score_scale = json.number({"attention_multiplier"}, 1.0);
    c.residual_scale = json.number({"residual_multiplier"}, 1.0);
    c.logit_scale = 1.0 / json.number({"logits_scaling"}, 1.0);
    return c;
}

ModelConfig parse_moe(const ConfigReader& json) {
    ModelConfig c = parse_config(json);
    c.mlp_bias = false;
    c.experts = {.count = json.size({"num_local_experts"}, kMaxExperts, 8),
                 .chosen = json.size({"num_experts_per_tok"}, kMaxExperts, 2),
                 .width = c.d_mlp,
                 .normalized = true};  // its softmax over the chosen logits is that over all, divided by their sum
    finish_experts(json, c, "num_experts_per_tok", "num_local_experts");
    return c;
}

WeightMap moe_map(const ModelConfig& c) {
    WeightMap map = llama_weights(c);
    const std::string at = "block_sparse_moe.", expert = at + "experts.@.";
    add_expert_rows(map, c,
                    {.router = at + "router.layer.weight",
                     .gate = expert + "gate_proj.weight",
                     .up = expert + "up_proj.weight",
                     .down = expert + "down_proj.weight",
                     .gates_up = {at + "input_linear.weight", at + "experts.gate_up_proj"},
                     .downs = {at + "output_linear.weight", at + "experts.down_proj"}});
    for (WeightRow& row : map.rows)
        if (row.slot == Slot::router_weight) row.names.push_back("layers.#." + at + "router.weight");
    return map;
}

constexpr std::string_view kMoeNames[] = {"GraniteMoeForCausalLM", "GraniteMoeModel"};
constexpr std::string_view kArchitectures[] = {"GraniteForCausalLM", "GraniteModel"};

}  // namespace granite

const Family kGranite = {"granite", granite::kArchitectures, "granite", granite::parse_config, llama_weights, llama_spec};
const Family kGraniteMoe = {"granitemoe", granite::kMoeNames, "granitemoe", granite::parse_moe, granite::moe_map, llama_spec};

}  // namespace headlight::model
