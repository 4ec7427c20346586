// SPDX-License-Identifier: GPL-3.0-or-later
// Qwen 3: Llama with an RMSNorm of every query and key.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace qwen3 {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 32, .d_head = 128, .context = 32768});
    c.query_bias = json.flag("attention_bias", false);
    c.qk_norm = QkNorm::head;
    read_qwen_windows(json, c);
    return c;
}

constexpr std::string_view kArchitectures[] = {"Qwen3ForCausalLM", "Qwen3Model"};

}  // namespace qwen3

const Family kQwen3 = {"qwen3", qwen3::kArchitectures, "qwen3", qwen3::parse_config, llama_weights, llama_spec};

}  // namespace headlight::model
