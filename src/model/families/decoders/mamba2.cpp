// SPDX-License-Identifier: GPL-3.0-or-later
// Mamba-2: layers of a state space alone, without attention and without MLPs.
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

#include <cmath>
#include <limits>
#include <optional>

namespace headlight::model {
namespace mamba2 {

/// A number, or infinity as transformers writes it: {"__float__": "Infinity"}.
std::optional<double> limit_of(const nlohmann::json& x) {
    if (x.is_number() && !std::isnan(x.get<double>())) return x.get<double>();
    if (x.is_object() && x.value("__float__", "") == "Infinity") return std::numeric_limits<double>::infinity();
    return std::nullopt;
}

/// 0 and infinity where the file does not say.
void read_step_limits(const ConfigReader& json, StateSpace& s) {
    if (!json.has("time_step_limit")) return;
    const nlohmann::json& limits = json.raw("time_step_limit");
    const bool two = limits.is_array() && limits.size() == 2;
    const auto least = two ? limit_of(limits[0]) : std::nullopt, largest = two ? limit_of(limits[1]) : std::nullopt;
    if (!least || !largest || *least > *largest)
        json.wrong("time_step_limit", "two numbers, the smaller first", limits.dump().substr(0, 80));
    s.least_step = *least;
    s.largest_step = *largest;
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers, 64);
    c.d_model = json.size({"hidden_size"}, kMaxWidth, 4096);
    c.n_heads = json.size({"num_heads"}, kMaxHeads, 128);
    c.n_kv_heads = c.n_heads;
    c.d_head = json.size({"state_size"}, kMaxWidth, 128);
    c.d_value = json.size({"head_dim"}, kMaxWidth, 64);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab, 32768);
    c.context_is_hard_limit = false;
    c.mlp_bias = false;
    c.positions = Positions::none;
    c.norm = Norm::rms_norm;
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
    c.query_bias = c.out_bias = json.flag("use_bias", false);
    c.tied_unembedding = json.flag("tie_word_embeddings", false);
    c.mixers.assign(static_cast<std::size_t>(c.n_layers), Mixer::state_space);
    StateSpace& s = c.state_space;
    s.groups = s.norm_groups = json.size({"n_groups"}, kMaxHeads, 8);
    s.conv_width = json.size({"conv_kernel"}, kMaxContext, 4);
    s.conv_bias = json.flag("use_conv_bias", true);
    s.activation = read_activation(json, "hidden_act", "silu");
    c.activation = s.activation;
    read_step_limits(json, s);
    if (c.n_heads % s.groups != 0)
        json.wrong("n_groups", "a divisor of num_heads = " + std::to_string(c.n_heads), std::to_string(s.groups));
    if (const double expand = json.number({"expand"}, 2);
        static_cast<std::int64_t>(expand * static_cast<double>(c.d_model)) != c.n_heads * c.d_value)
        json.wrong("num_heads", "num_heads × head_dim = expand × hidden_size",
                   std::to_string(c.n_heads) + " × " + std::to_string(c.d_value));
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const StateSpace& s = c.state_space;
    const std::int64_t d = c.d_model, inner = c.n_heads * c.d_value, channels = s.conv_channels(inner, c.d_head);
    const std::string at = "layers.#.mixer.";
    WeightMap map;
    map.prefixes = {"backbone.", ""};
    map.head_name = "language model head";
    map.rows = {{Slot::embed, {"embeddings.weight", "embedding.weight"}, {c.vocab_size, d}}};
    add_norm(map, Slot::ln1_gain, "layers.#.norm", d, false);
    add_linear(map, Slot::in_proj_weight, at + "in_proj", inner + channels + c.n_heads, d, c.query_bias);
    map.rows.push_back({Slot::mixer_conv_weight, {at + "conv1d.weight"}, {channels, 1, s.conv_width}});
    if (s.conv_bias) map.rows.push_back({Slot::mixer_conv_bias, {at + "conv1d.bias"}, {channels}});
    map.rows.push_back({Slot::step_bias, {at + "dt_bias"}, {c.n_heads}});
    map.rows.push_back({Slot::rate_log, {at + "A_log"}, {c.n_heads}});
    map.rows.push_back({Slot::skip, {at + "D"}, {c.n_heads}});
    map.rows.push_back({Slot::gate_norm, {at + "norm.weight"}, {inner}});
    add_linear(map, Slot::o_weight, at + "out_proj", d, inner, c.out_bias);
    add_norm(map, Slot::final_norm_gain, "norm_f", d, false);
    add_language_head(map, c, "lm_head.weight");
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::token_embedding}, .layer = {Block::attention}, .after = {Block::final_norm, Block::unembedding}};
}

constexpr std::string_view kArchitectures[] = {"Mamba2ForCausalLM", "Mamba2Model"};

}  // namespace mamba2

const Family kMamba2 = {"mamba2", mamba2::kArchitectures, "mamba2", mamba2::parse_config, mamba2::weight_map, mamba2::spec};

}  // namespace headlight::model
