// SPDX-License-Identifier: GPL-3.0-or-later
// Qwen 2: Llama with biases of q, k and v, and a sliding window from some layer on.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace qwen2 {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 32, .context = 32768});
    c.query_bias = true;
    read_qwen_windows(json, c);
    return c;
}

WeightMap weight_map(const ModelConfig& c) { return llama_map(c); }

constexpr std::string_view kArchitectures[] = {"Qwen2ForCausalLM", "Qwen2Model"};

}  // namespace qwen2

const Family kQwen2 = {"qwen2", qwen2::kArchitectures, "qwen2", qwen2::parse_config, qwen2::weight_map, llama_spec};

}  // namespace headlight::model
