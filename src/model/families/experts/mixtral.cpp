// SPDX-License-Identifier: GPL-3.0-or-later
// Mixtral (Jiang et al. 2024): Mistral with experts in every layer, two of eight for each token.
#include "model/families/decoders/llama_shape.h"
#include "model/families/experts/experts.h"

namespace headlight::model {
namespace mixtral {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 8, .context = 4096 * 32, .epsilon = 1e-5, .rope_theta = 1e6});
    read_window(json, c, std::nullopt);
    c.experts = {.count = json.size({"num_local_experts"}, kMaxExperts, 8),
                 .chosen = json.size({"num_experts_per_tok"}, kMaxExperts, 2),
                 .width = c.d_mlp,
                 .normalized = true,
                 .wide_weights = true};
    finish_experts(json, c, "num_experts_per_tok", "num_local_experts");
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map = llama_map(c);
    const std::string at = "block_sparse_moe.", expert = at + "experts.@.";
    add_expert_rows(map, c,
                    {.router = at + "gate.weight",
                     .gate = expert + "w1.weight",
                     .up = expert + "w3.weight",
                     .down = expert + "w2.weight",
                     .gates_up = {at + "experts.gate_up_proj", "mlp.experts.gate_up_proj"},
                     .downs = {at + "experts.down_proj", "mlp.experts.down_proj"}});
    return map;
}

constexpr std::string_view kArchitectures[] = {"MixtralForCausalLM", "MixtralModel"};

}  // namespace mixtral

const Family kMixtral = {"mixtral", mixtral::kArchitectures, "mixtral", mixtral::parse_config, mixtral::weight_map, llama_spec};

}  // namespace headlight::model
