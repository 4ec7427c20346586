// SPDX-License-Identifier: GPL-3.0-or-later
// StableLM: Llama with LayerNorm and a rotation of a quarter of each head; some sizes add attention and MLP in parallel.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace stablelm {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(
        json, {.kv_heads = 32, .context = 4096, .epsilon_field = "layer_norm_eps", .epsilon = 1e-5, .rope_share = 0.25});
    c.norm = Norm::layer_norm;
    c.query_bias = json.flag("use_qkv_bias", false);
    c.parallel = c.shared_norm = json.flag("use_parallel_residual", false);
    if (json.flag("qk_layernorm", false)) {
        c.qk_norm = QkNorm::each_head;
        c.qk_norm_kind = Norm::layer_norm;
    }
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map = llama_map(c, {.norm_bias = true});
    for (WeightRow& row : map.rows) {
        if (row.slot != Slot::q_norm_gain && row.slot != Slot::k_norm_gain) continue;
        const bool queries = row.slot == Slot::q_norm_gain;
        row.names = {std::string("layers.#.self_attn.") + (queries ? "q" : "k") + "_layernorm.norms.@.weight"};
        row.shape = {c.d_head};
        row.experts = queries ? c.n_heads : c.n_kv_heads;
    }
    return map;
}

constexpr std::string_view kArchitectures[] = {"StableLmForCausalLM", "StableLmModel"};

}  // namespace stablelm

const Family kStablelm = {"stablelm", stablelm::kArchitectures, "stablelm", stablelm::parse_config, stablelm::weight_map,
                          llama_spec};

}  // namespace headlight::model
