// SPDX-License-Identifier: GPL-3.0-or-later
// Llama: RMSNorm, rotary positions, gated MLP, several query heads to a key/value head.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace llama {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json);
    c.query_bias = json.flag("attention_bias", false);
    c.mlp_bias = json.flag("mlp_bias", false);
    return c;
}

constexpr std::string_view kArchitectures[] = {"LlamaForCausalLM", "LlamaModel"};

}  // namespace llama

const Family kLlama = {"llama", llama::kArchitectures, "llama", llama::parse_config, llama_weights, llama_spec};

}  // namespace headlight::model
