// SPDX-License-Identifier: GPL-3.0-or-later
// HunYuan (dense): Llama with norms of every query and key behind the rotation, whose base may be stretched by a fixed factor.
#include "model/families/decoders/llama_shape.h"

#include <cmath>

namespace headlight::model {
namespace hunyuan {

/// "dynamic" with "alpha": the base is theta alpha^(d / (d - 2)) at any length.
void read_alpha(const ConfigReader& json, ModelConfig& c) {
    auto rope = json.object("rope_parameters");
    if (!rope) rope = json.object("rope_scaling");
    if (!rope || c.rope.scaling != RopeScaling::dynamic || rope->signed_number({"alpha"}, 0) == 0) return;
    const auto d = static_cast<double>(c.d_head);
    c.rope = {.theta = c.rope.theta * std::pow(rope->number({"alpha"}), d / (d - 2))};
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.epsilon = 1e-5});
    c.query_bias = json.flag("attention_bias", false);
    c.qk_norm = QkNorm::head;
    c.norm_after_rotation = true;
    read_alpha(json, c);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    return llama_map(c, {.o_bias = c.query_bias, .q_norm = "query_layernorm", .k_norm = "key_layernorm"});
}

constexpr std::string_view kArchitectures[] = {"HunYuanDenseV1ForCausalLM", "HunYuanDenseV1Model"};

}  // namespace hunyuan

const Family kHunyuan = {"hunyuan_v1_dense",    hunyuan::kArchitectures, "hunyuan_v1_dense",
                         hunyuan::parse_config, hunyuan::weight_map,     llama_spec};

}  // namespace headlight::model
