// SPDX-License-Identifier: GPL-3.0-or-later
// Seed-OSS: Llama with biases of q, k and v alone.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace seed_oss {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 8,
                                        .d_head = json.mentions("head_dim") ? std::nullopt : std::optional<std::int64_t>(128),
                                        .context = 524288});
    c.query_bias = json.flag("attention_bias", true);
    c.out_bias = json.flag("attention_out_bias", false);
    c.mlp_bias = json.flag("mlp_bias", false);
    return c;
}

WeightMap weight_map(const ModelConfig& c) { return llama_map(c, {.o_bias = c.out_bias}); }

constexpr std::string_view kArchitectures[] = {"SeedOssForCausalLM", "SeedOssModel"};

}  // namespace seed_oss

const Family kSeedOss = {"seed_oss", seed_oss::kArchitectures, "seed_oss", seed_oss::parse_config, seed_oss::weight_map,
                         llama_spec};

}  // namespace headlight::model
