// SPDX-License-Identifier: GPL-3.0-or-later
// Apertus: Llama with norms of every query and key, and an MLP of xIELUs without a gate.
#include "model/families/decoders/llama_shape.h"
#include "model/load/rope_config.h"

namespace headlight::model {
namespace apertus {

ModelConfig parse_config(const ConfigReader& json) {
    if (json.text({"hidden_act"}, "xielu") != "xielu") json.unsupported("hidden_act", "xielu");
    ModelConfig c = llama_config(json, {.context = 65536, .epsilon = 1e-5, .activation_field = "-", .rope_theta = 12000000.0});
    if (!json.has("rope_parameters") && !json.has("rope_scaling"))
        c.rope = {.theta = 12000000.0, .scaling = RopeScaling::llama3, .factor = 8.0, .original_context = 8192};
    c.activation = Activation::xielu;
    c.gated_mlp = false;
    c.query_bias = json.flag("attention_bias", false);
    c.qk_norm = QkNorm::head;
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map =
        llama_map(c, {.o_bias = c.query_bias, .ln1 = "attention_layernorm", .ln2 = "feedforward_layernorm", .mlp_in = "up_proj"});
    const std::string at = "layers.#.mlp.act_fn.";
    map.rows.push_back({Slot::xielu_positive, {at + "alpha_p"}, {1}});
    map.rows.push_back({Slot::xielu_negative, {at + "alpha_n"}, {1}});
    map.rows.push_back({Slot::xielu_beta, {at + "beta"}, {}});
    map.rows.push_back({Slot::xielu_eps, {at + "eps"}, {}});
    return map;
}

constexpr std::string_view kArchitectures[] = {"ApertusForCausalLM", "ApertusModel"};

}  // namespace apertus

const Family kApertus = {"apertus", apertus::kArchitectures, "apertus", apertus::parse_config, apertus::weight_map, llama_spec};

}  // namespace headlight::model
