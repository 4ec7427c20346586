// SPDX-License-Identifier: GPL-3.0-or-later
// ERNIE 4.5 and Helium: Llama with neighbours as pairs of the rotation.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace ernie4_5 {

ModelConfig parse_ernie(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 2,
                                        .d_head = json.mentions("head_dim") ? std::nullopt : std::optional<std::int64_t>(128),
                                        .context = 131072,
                                        .tied = true,
                                        .epsilon = 1e-5,
                                        .rope_theta = 500000.0});
    c.query_bias = c.mlp_bias = json.flag("use_bias", false);
    c.rope_interleaved = true;
    return c;
}

ModelConfig parse_helium(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 20, .d_head = 128, .context = 4096, .epsilon = 1e-8, .rope_theta = 100000.0});
    c.query_bias = json.flag("attention_bias", false);
    c.mlp_bias = json.flag("mlp_bias", false);
    c.rope_interleaved = true;
    return c;
}

WeightMap helium_map(const ModelConfig& c) { return llama_map(c); }

constexpr std::string_view kErnieNames[] = {"Ernie4_5ForCausalLM", "Ernie4_5Model"};
constexpr std::string_view kHeliumNames[] = {"HeliumForCausalLM", "HeliumModel"};

}  // namespace ernie4_5

const Family kErnie4_5 = {"ernie4_5", ernie4_5::kErnieNames, "ernie4_5", ernie4_5::parse_ernie, llama_weights, llama_spec};
const Family kHelium = {"helium", ernie4_5::kHeliumNames, "helium", ernie4_5::parse_helium, ernie4_5::helium_map, llama_spec};

}  // namespace headlight::model
