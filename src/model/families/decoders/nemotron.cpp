// SPDX-License-Identifier: GPL-3.0-or-later
// Nemotron (Minitron): Llama with LayerNorms whose gains are stored less 1, half of each head rotated, and an MLP of squared
// ReLUs without a gate. Arcee (AFM): Llama with that MLP.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace nemotron {

ModelConfig parse_nemotron(const ConfigReader& json) {
    ModelConfig c = llama_config(
        json, {.context = 4096, .epsilon_field = "norm_eps", .epsilon = 1e-5, .activation = "relu2", .rope_share = 0.5});
    c.norm = Norm::layer_norm;
    c.gated_mlp = false;
    c.query_bias = json.flag("attention_bias", false);
    c.mlp_bias = json.flag("mlp_bias", false);
    return c;
}

ModelConfig parse_arcee(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.context = 4096, .epsilon = 1e-5, .activation = "relu2"});
    c.gated_mlp = false;
    c.query_bias = json.flag("attention_bias", false);
    c.mlp_bias = json.flag("mlp_bias", false);
    return c;
}

WeightMap nemotron_map(const ModelConfig& c) {
    return llama_map(c, {.o_bias = c.query_bias, .norm_bias = true, .gain_plus = 1, .mlp_in = "up_proj"});
}

WeightMap arcee_map(const ModelConfig& c) { return llama_map(c, {.o_bias = c.query_bias, .mlp_in = "up_proj"}); }

constexpr std::string_view kNemotronNames[] = {"NemotronForCausalLM", "NemotronModel"};
constexpr std::string_view kArceeNames[] = {"ArceeForCausalLM", "ArceeModel"};

}  // namespace nemotron

const Family kNemotron = {"nemotron", nemotron::kNemotronNames, "nemotron", nemotron::parse_nemotron, nemotron::nemotron_map,
                          llama_spec};
const Family kArcee = {"arcee", nemotron::kArceeNames, "arcee", nemotron::parse_arcee, nemotron::arcee_map, llama_spec};

}  // namespace headlight::model
