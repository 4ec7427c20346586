// SPDX-License-Identifier: GPL-3.0-or-later
// EXAONE 4: norms of what attention and MLP write and of every query and key; of its layers with and without a window only the
// first rotate.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace exaone4 {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 32, .epsilon = 1e-5});
    c.input_norm = false;
    c.branch_norm = true;
    c.qk_norm = QkNorm::head;
    const bool windows = json.has("sliding_window") || !json.mentions("sliding_window");
    const std::int64_t window = windows ? json.size({"sliding_window"}, kMaxContext, 4096) : 0;
    if (json.has("layer_types")) {
        read_layer_types(json, c, window, [](std::int64_t) { return false; });
    } else {
        const std::int64_t every = json.size({"sliding_window_pattern"}, kMaxLayers, 4);
        for (std::int64_t l = 0; l < c.n_layers; ++l) c.windows.push_back((l + 1) % every != 0 ? window : 0);
    }
    for (std::int64_t l = 0; windows && l < c.n_layers; ++l)
        c.layer_rope.push_back(window_of(c, l) > 0 ? LayerRope::global : LayerRope::none);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    return llama_map(c, {.ln1_post = "post_attention_layernorm", .ln2_post = "post_feedforward_layernorm"});
}

constexpr std::string_view kArchitectures[] = {"Exaone4ForCausalLM", "Exaone4Model"};

}  // namespace exaone4

const Family kExaone4 = {"exaone4", exaone4::kArchitectures, "exaone4", exaone4::parse_config, exaone4::weight_map, llama_spec};

}  // namespace headlight::model
