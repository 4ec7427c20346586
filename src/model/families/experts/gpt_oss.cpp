// SPDX-License-Identifier: GPL-3.0-or-later
// GPT-OSS (OpenAI 2025): experts in every layer with biases and clamped branches, every other layer with a window, and in every
// head a sink that takes a share of the softmax.
#include "model/families/decoders/llama_shape.h"
#include "model/families/experts/experts.h"

namespace headlight::model {
namespace gpt_oss {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 8, .d_head = 64, .context = 131072, .epsilon = 1e-5, .rope_theta = 150000.0});
    if (!json.has("rope_parameters") && !json.has("rope_scaling"))
        json.unsupported("rope_parameters", "the scaling of the rotation, which every published file names");
    if (json.text({"hidden_act"}, "silu") != "silu") json.unsupported("hidden_act", "silu");
    if (json.number({"swiglu_alpha"}, 1.702) != 1.702) json.unsupported("swiglu_alpha", "1.702");
    c.activation = Activation::quick_gelu;  // x sigmoid(1.702 x): the gate of its SwiGLU
    c.mlp_clamp = json.number({"swiglu_limit"}, 7.0);
    c.query_bias = json.flag("attention_bias", true);
    c.attention_sinks = true;
    const std::int64_t window =
        json.has("sliding_window") || !json.mentions("sliding_window") ? json.size({"sliding_window"}, kMaxContext, 128) : 0;
    read_layer_types(json, c, window, [](std::int64_t l) { return l % 2 == 0; });
    c.experts = {.count = json.size({"num_local_experts"}, kMaxExperts, 128),
                 .chosen = json.size({"num_experts_per_tok"}, kMaxExperts, 4),
                 .width = c.d_mlp,
                 .normalized = true};  // its softmax over the chosen logits is that over all, divided by their sum
    finish_experts(json, c, "num_experts_per_tok", "num_local_experts");
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map = llama_map(c, {.o_bias = c.query_bias});
    const Experts& e = c.experts;
    const std::int64_t d = c.d_model;
    const std::string at = "layers.#.mlp.", expert = at + "experts.";
    map.rows.push_back({Slot::sinks, {"layers.#.self_attn.sinks"}, {c.n_heads}});
    map.rows.push_back({Slot::router_weight, {at + "router.weight"}, {e.count, d}, Layout::out_in});
    map.rows.push_back({Slot::router_bias, {at + "router.bias"}, {e.count}});
    map.rows.push_back({Slot::experts_gate_up_weight, {expert + "gate_up_proj"}, {e.count, d, 2 * e.width}, Layout::in_out});
    map.rows.push_back({Slot::experts_gate_up_bias, {expert + "gate_up_proj_bias"}, {e.count, 2 * e.width}});
    map.rows.push_back({Slot::experts_out_weight, {expert + "down_proj"}, {e.count, e.width, d}, Layout::in_out});
    map.rows.push_back({Slot::experts_out_bias, {expert + "down_proj_bias"}, {e.count, d}});
    return map;
}

constexpr std::string_view kArchitectures[] = {"GptOssForCausalLM", "GptOssModel"};

}  // namespace gpt_oss

const Family kGptOss = {"gpt_oss", gpt_oss::kArchitectures, "gpt_oss", gpt_oss::parse_config, gpt_oss::weight_map, llama_spec};

}  // namespace headlight::model
