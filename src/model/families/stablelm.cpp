// SPDX-License-Identifier: GPL-3.0-or-later
// StableLM: Llama with LayerNorm and a rotation of a quarter of each head; some sizes add attention and MLP in parallel.
#include "model/families/llama_shape.h"

namespace headlight::model {
namespace stablelm {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("qk_layernorm", false, false);
    ModelConfig c = llama_config(
        json, {.kv_heads = 32, .context = 4096, .epsilon_field = "layer_norm_eps", .epsilon = 1e-5, .rope_share = 0.25});
    c.norm = Norm::layer_norm;
    c.query_bias = json.flag("use_qkv_bias", false);
    c.parallel = c.shared_norm = json.flag("use_parallel_residual", false);
    return c;
}

WeightMap weight_map(const ModelConfig& c) { return llama_map(c, {.norm_bias = true}); }

constexpr std::string_view kArchitectures[] = {"StableLmForCausalLM", "StableLmModel"};

}  // namespace stablelm

const Family kStablelm = {"stablelm", stablelm::kArchitectures, "stablelm", stablelm::parse_config, stablelm::weight_map,
                          llama_spec};

}  // namespace headlight::model
