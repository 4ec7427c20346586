// SPDX-License-Identifier: GPL-3.0-or-later
// Qwen2-MoE (Qwen1.5-MoE, Qwen2-57B-A14B): Qwen 2 with experts in some layers, beside them one that every token goes
// through, weighted by a gate. Qwen3-MoE: Qwen 3 with experts and no shared one.
#include "model/families/decoders/llama_shape.h"
#include "model/families/experts/experts.h"

#include <algorithm>

namespace headlight::model {
namespace qwen2_moe {

/// Every decoder_sparse_step-th layer has experts, but for those that "mlp_only_layers" names.
std::vector<bool> layers_with_experts(const ConfigReader& json, std::int64_t n_layers) {
    const std::int64_t step = json.size({"decoder_sparse_step"}, kMaxLayers, 1);
    std::vector<bool> layers;
    for (std::int64_t l = 0; l < n_layers; ++l) layers.push_back((l + 1) % step == 0);
    if (!json.has("mlp_only_layers")) return layers;
    const nlohmann::json& dense = json.raw("mlp_only_layers");
    if (!dense.is_array()) json.wrong("mlp_only_layers", "a list of layers", dense.dump());
    for (const auto& each : dense) {
        if (!each.is_number_integer()) json.wrong("mlp_only_layers", "numbers of layers", each.dump());
        // Numbers of layers that do not exist are ignored, as in transformers.
        if (const auto l = each.get<std::int64_t>(); l >= 0 && l < n_layers) layers[static_cast<std::size_t>(l)] = false;
    }
    if (std::ranges::find(layers, true) == layers.end())
        json.wrong("mlp_only_layers", "at least one layer with experts", "none of " + std::to_string(n_layers));
    return layers;
}

/// Where the file does not list its layers: every other one before "max_window_layers" has a window.
void read_windows(const ConfigReader& json, ModelConfig& c) {
    const bool used = json.flag("use_sliding_window", false);
    const std::int64_t window = used ? json.size({"sliding_window"}, kMaxContext, 4096) : 0;
    if (json.has("layer_types")) return read_layer_types(json, c, window, [](std::int64_t) { return false; });
    const double last = json.signed_number({"max_window_layers"}, 28);
    if (!used) return;
    for (std::int64_t l = 0; l < c.n_layers; ++l) c.windows.push_back(l % 2 == 0 && static_cast<double>(l) < last ? window : 0);
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 16, .context = 32768});
    c.query_bias = json.flag("qkv_bias", true);
    read_windows(json, c);
    c.experts = {.count = json.size({"num_experts"}, kMaxExperts, 60),
                 .chosen = json.size({"num_experts_per_tok"}, kMaxExperts, 4),
                 .width = json.size({"moe_intermediate_size"}, kMaxWidth, 1408),
                 .shared_width = json.size({"shared_expert_intermediate_size"}, kMaxWidth, 5632),
                 .shared_gate = true,
                 .normalized = json.flag("norm_topk_prob", false),
                 .dense_width = c.d_mlp,
                 .layers = layers_with_experts(json, c.n_layers)};
    finish_experts(json, c, "num_experts_per_tok", "num_experts");
    return c;
}

ModelConfig parse_qwen3(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 4, .context = 32768});
    c.query_bias = json.flag("attention_bias", false);
    c.qk_norm = QkNorm::head;
    if (json.flag("use_sliding_window", false)) read_window(json, c, 4096);
    c.experts = {.count = json.size({"num_experts", "num_local_experts"}, kMaxExperts, 128),
                 .chosen = json.size({"num_experts_per_tok"}, kMaxExperts, 8),
                 .width = json.size({"moe_intermediate_size"}, kMaxWidth, 768),
                 .normalized = json.flag("norm_topk_prob", false),
                 .dense_width = c.d_mlp,
                 .layers = layers_with_experts(json, c.n_layers)};
    finish_experts(json, c, "num_experts_per_tok", "num_experts");
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map = llama_map(c);
    ExpertNames names = kExpertNames;
    if (c.experts.shared_width > 0) {
        names.shared = "mlp.shared_expert.";
        names.shared_gate = "mlp.shared_expert_gate.weight";
    }
    add_expert_rows(map, c, names);
    return map;
}

WeightMap qwen3_map(const ModelConfig& c) {
    WeightMap map = llama_weights(c);
    add_expert_rows(map, c, kExpertNames);
    return map;
}

constexpr std::string_view kArchitectures[] = {"Qwen2MoeForCausalLM", "Qwen2MoeModel"};
constexpr std::string_view kQwen3Names[] = {"Qwen3MoeForCausalLM", "Qwen3MoeModel"};

}  // namespace qwen2_moe

const Family kQwen2Moe = {"qwen2_moe", qwen2_moe::kArchitectures, "qwen2_moe", qwen2_moe::parse_config, qwen2_moe::weight_map,
                          llama_spec};
const Family kQwen3Moe = {"qwen3_moe", qwen2_moe::kQwen3Names, "qwen3_moe", qwen2_moe::parse_qwen3, qwen2_moe::qwen3_map,
                          llama_spec};

}  // namespace headlight::model
