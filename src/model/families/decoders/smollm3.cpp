// SPDX-License-Identifier: GPL-3.0-or-later
// SmolLM3: Llama whose every fourth layer does not rotate.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace smollm3 {

void read_rotating_layers(const ConfigReader& json, ModelConfig& c) {
    const std::vector<std::int64_t> listed = json.integers("no_rope_layers", c.n_layers);  // 1: the layer rotates
    const std::int64_t interval = json.size({"no_rope_layer_interval"}, kMaxLayers, 4);
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const bool rotates = listed.empty() ? (l + 1) % interval != 0 : listed[static_cast<std::size_t>(l)] != 0;
        c.layer_rope.push_back(rotates ? LayerRope::global : LayerRope::none);
    }
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 4, .context = 32768, .tied = true, .rope_theta = 2000000.0});
    c.query_bias = json.flag("attention_bias", false);
    c.mlp_bias = json.flag("mlp_bias", false);
    read_rotating_layers(json, c);
    const bool windows = json.flag("use_sliding_window", false) && json.has("sliding_window");
    const std::int64_t window = windows ? json.size({"sliding_window"}, kMaxContext) : 0;
    if (json.has("layer_types")) {
        read_layer_types(json, c, json.has("sliding_window") ? json.size({"sliding_window"}, kMaxContext) : 0,
                         [](std::int64_t) { return false; });
    } else if (windows) {
        for (const LayerRope rope : c.layer_rope) c.windows.push_back(rope == LayerRope::none ? window : 0);
    }
    return c;
}

constexpr std::string_view kArchitectures[] = {"SmolLM3ForCausalLM", "SmolLM3Model"};

}  // namespace smollm3

const Family kSmollm3 = {"smollm3", smollm3::kArchitectures, "smollm3", smollm3::parse_config, llama_weights, llama_spec};

}  // namespace headlight::model
