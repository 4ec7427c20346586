// SPDX-License-Identifier: GPL-3.0-or-later
// OLMo: Llama with LayerNorms that have no parameters, and clipped q, k and v. OLMo 2: RMSNorms of what attention and
// MLP write instead of what they read, and of the concatenated queries and keys of all heads. OLMo 3: the same with windows in
// three of four layers, whose rotation is not stretched.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace olmo {

ModelConfig parse_olmo(const ConfigReader& json) {
    ModelConfig c = llama_config(json);
    c.query_bias = json.flag("attention_bias", false);
    c.norm = Norm::layer_norm;
    c.norm_epsilon = 1e-5;
    c.norm_gain = false;
    if (json.has("clip_qkv")) c.qkv_clip = json.number({"clip_qkv"});
    return c;
}

ModelConfig parse_post_normed(const ConfigReader& json, double theta) {
    ModelConfig c = llama_config(json, {.epsilon = 1e-5, .rope_theta = theta});
    c.query_bias = json.flag("attention_bias", false);
    c.input_norm = false;
    c.branch_norm = true;
    c.qk_norm = QkNorm::whole;
    return c;
}

ModelConfig parse_olmo2(const ConfigReader& json) { return parse_post_normed(json, 10000.0); }

ModelConfig parse_olmo3(const ConfigReader& json) {
    constexpr double theta = 500000.0;
    ModelConfig c = parse_post_normed(json, theta);
    const bool windows = json.has("sliding_window") || !json.mentions("sliding_window");
    const std::int64_t window = windows ? json.size({"sliding_window"}, kMaxContext, 4096) : 0;
    read_layer_types(json, c, window, [](std::int64_t layer) { return (layer + 1) % 4 != 0; });
    const auto rope = json.object("rope_parameters");
    if (rope && !rope->object_of_kind("full_attention")) json.unsupported("rope_parameters", "an object for each kind of layer");
    if (!rope) c.local_rope = {.theta = theta};  // what the file says is of global layers alone
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        c.layer_rope.push_back(window_of(c, l) > 0 ? LayerRope::local : LayerRope::global);
    return c;
}

WeightMap olmo2_map(const ModelConfig& c) {
    return llama_map(
        c, {.o_bias = c.query_bias, .ln1_post = "post_attention_layernorm", .ln2 = {}, .ln2_post = "post_feedforward_layernorm"});
}

constexpr std::string_view kOlmoNames[] = {"OlmoForCausalLM", "OlmoModel"};
constexpr std::string_view kOlmo2Names[] = {"Olmo2ForCausalLM", "Olmo2Model"};
constexpr std::string_view kOlmo3Names[] = {"Olmo3ForCausalLM", "Olmo3Model"};

}  // namespace olmo

const Family kOlmo = {"olmo", olmo::kOlmoNames, "olmo", olmo::parse_olmo, llama_weights, llama_spec};
const Family kOlmo2 = {"olmo2", olmo::kOlmo2Names, "olmo2", olmo::parse_olmo2, olmo::olmo2_map, llama_spec};
const Family kOlmo3 = {"olmo3", olmo::kOlmo3Names, "olmo3", olmo::parse_olmo3, olmo::olmo2_map, llama_spec};

}  // namespace headlight::model
