// SPDX-License-Identifier: GPL-3.0-or-later
// Phi-3.5-MoE: Mixtral with LayerNorms, two experts chosen by SparseMixer, and a longrope of its own: short factors at any
// length, and a factor of cos and sin that depends on it.
#include "model/families/decoders/llama_shape.h"
#include "model/families/experts/experts.h"

namespace headlight::model {
namespace phimoe {

void read_factors(const ConfigReader& json, ModelConfig& c) {
    auto rope = json.object("rope_parameters");
    if (!rope) rope = json.object("rope_scaling");
    if (!rope || rope->text({"rope_type", "type"}, "default") == "default") return;
    if (c.rope.scaling != RopeScaling::longrope) rope->unsupported("rope_type", "longrope, which every published file has");
    c.rope.attention_factor = rope->number({"short_mscale"});
    c.rope.far_attention_factor = rope->number({"long_mscale"});
    c.rope.long_factors = c.rope.short_factors;
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 8, .context = 4096 * 32, .epsilon = 1e-5, .rope_theta = 1e6});
    read_factors(json, c);
    c.norm = Norm::layer_norm;
    c.query_bias = json.flag("attention_bias", false);
    c.unembed_bias = json.flag("lm_head_bias", false);
    read_window(json, c, std::nullopt);
    if (json.size({"num_experts_per_tok"}, kMaxExperts, 2) != 2) json.unsupported("num_experts_per_tok", "2");
    c.experts = {.count = json.size({"num_local_experts"}, kMaxExperts, 16),
                 .chosen = 2,
                 .width = c.d_mlp,
                 .mixer_jitter = json.number({"router_jitter_noise"}, 0.01)};
    finish_experts(json, c, "num_experts_per_tok", "num_local_experts");
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map = llama_map(c, {.o_bias = c.query_bias, .norm_bias = true, .head_bias = c.unembed_bias});
    const std::string at = "block_sparse_moe.", expert = at + "experts.@.";
    add_expert_rows(map, c,
                    {.router = at + "gate.weight",
                     .gate = expert + "w1.weight",
                     .up = expert + "w3.weight",
                     .down = expert + "w2.weight",
                     .gates_up = {"mlp.experts.gate_up_proj"},
                     .downs = {"mlp.experts.down_proj"}});
    for (WeightRow& row : map.rows)
        if (row.slot == Slot::router_weight) row.names.emplace_back("layers.#.mlp.router.weight");
    return map;
}

constexpr std::string_view kArchitectures[] = {"PhimoeForCausalLM", "PhiMoEForCausalLM", "PhimoeModel"};

}  // namespace phimoe

const Family kPhimoe = {"phimoe", phimoe::kArchitectures, "phimoe", phimoe::parse_config, phimoe::weight_map, llama_spec};

}  // namespace headlight::model
