// SPDX-License-Identifier: GPL-3.0-or-later
// Mistral: Llama with a sliding window over the keys of every layer.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace mistral {

ModelConfig parse_config(const ConfigReader& json) {
    if (json.has("layer_types")) json.unsupported("layer_types", "no such field: one window for all layers");
    ModelConfig c = llama_config(json, {.kv_heads = 8, .context = 4096 * 32});
    read_window(json, c, 4096);
    return c;
}

constexpr std::string_view kArchitectures[] = {"MistralForCausalLM", "MistralModel"};

}  // namespace mistral

const Family kMistral = {"mistral", mistral::kArchitectures, "mistral", mistral::parse_config, llama_weights, llama_spec};

}  // namespace headlight::model
