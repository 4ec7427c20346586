// SPDX-License-Identifier: GPL-3.0-or-later
// Phi-3: Llama with q, k, v in one matrix and gate and linear branch in another; long-range frequencies, windows.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace phi3 {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.context = 4096, .epsilon = 1e-5, .rope_share = 1.0});
    read_window(json, c, {});
    return c;
}

WeightMap weight_map(const ModelConfig& c) { return llama_map(c, {.fused = true}); }

constexpr std::string_view kArchitectures[] = {"Phi3ForCausalLM", "Phi3Model"};

}  // namespace phi3

const Family kPhi3 = {"phi3", phi3::kArchitectures, "phi3", phi3::parse_config, phi3::weight_map, llama_spec};

}  // namespace headlight::model
