// SPDX-License-Identifier: GPL-3.0-or-later
// Cohere (Command R): LayerNorms without bias, neighbouring numbers rotate as pairs, attention and MLP in parallel. Cohere 2
// (Command R7B): three of four layers have a window, and only they rotate.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace cohere {

ModelConfig parse_shared(const ConfigReader& json) {
    ModelConfig c = llama_config(
        json, {.context = 8192, .tied = true, .epsilon_field = "layer_norm_eps", .epsilon = 1e-5, .rope_theta = 500000.0});
    c.norm = Norm::layer_norm;
    c.parallel = c.shared_norm = true;
    c.rope_interleaved = true;
    c.query_bias = json.flag("attention_bias", false);
    c.logit_scale = json.number({"logit_scale"}, 0.0625);
    return c;
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = parse_shared(json);
    if (json.flag("use_qk_norm", false)) {
        c.qk_norm = QkNorm::each_head;
        c.qk_norm_kind = Norm::layer_norm;
    }
    return c;
}

ModelConfig parse_cohere2(const ConfigReader& json) {
    ModelConfig c = parse_shared(json);
    if (c.d_head * c.n_heads != c.d_model) json.unsupported("head_dim", "hidden_size / num_attention_heads");
    const bool windows = json.has("sliding_window") || !json.mentions("sliding_window");
    const std::int64_t window = windows ? json.size({"sliding_window"}, kMaxContext, 4096) : 0;
    const std::int64_t every = json.size({"sliding_window_pattern"}, kMaxLayers, 4);
    if (json.has("layer_types"))
        read_layer_types(json, c, window, [](std::int64_t) { return false; });
    else
        for (std::int64_t l = 0; l < c.n_layers; ++l) c.windows.push_back((l + 1) % every != 0 ? window : 0);
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        c.layer_rope.push_back(window_of(c, l) > 0 ? LayerRope::global : LayerRope::none);
    return c;
}

constexpr std::string_view kCohere2Names[] = {"Cohere2ForCausalLM", "Cohere2Model"};
constexpr std::string_view kArchitectures[] = {"CohereForCausalLM", "CohereModel"};

}  // namespace cohere

const Family kCohere = {"cohere", cohere::kArchitectures, "cohere", cohere::parse_config, llama_weights, llama_spec};
const Family kCohere2 = {"cohere2", cohere::kCohere2Names, "cohere2", cohere::parse_cohere2, llama_weights, llama_spec};

}  // namespace headlight::model
