// SPDX-License-Identifier: GPL-3.0-or-later
// Llama 4 (its text model): Llama whose rotating layers attend within chunks and normalise queries and keys behind the rotation,
// while the others see the whole text with queries that grow; experts that read their input times its weight, beside a shared
// one.
#include "model/families/decoders/llama_shape.h"
#include "model/families/experts/experts.h"

#include <algorithm>

namespace headlight::model {
namespace llama4 {

/// A list of the file with a number for each layer, which may be longer than the model is deep; empty: no such field.
std::vector<std::int64_t> listed(const ConfigReader& json, std::string_view field) {
    std::vector<std::int64_t> list;
    if (!json.has(field)) return list;
    const nlohmann::json& value = json.raw(field);
    if (!value.is_array()) json.wrong(field, "a list of whole numbers", value.dump().substr(0, 40));
    for (const auto& each : value) {
        if (!each.is_number_integer()) json.wrong(field, "a list of whole numbers", each.dump().substr(0, 40));
        list.push_back(each.get<std::int64_t>());
    }
    return list;
}

void read_layers(const ConfigReader& json, ModelConfig& c) {
    const std::vector<std::int64_t> rotates = listed(json, "no_rope_layers");  // 1: the layer rotates
    if (!rotates.empty() && std::ssize(rotates) < c.n_layers)
        json.wrong("no_rope_layers", "a number for each of " + std::to_string(c.n_layers) + " layers",
                   std::to_string(rotates.size()));
    const std::int64_t interval = json.size({"no_rope_layer_interval"}, kMaxLayers, 4);
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const bool turns = rotates.empty() ? (l + 1) % interval != 0 : rotates[static_cast<std::size_t>(l)] != 0;
        c.layer_rope.push_back(turns ? LayerRope::global : LayerRope::none);
    }
    const bool chunked = json.has("attention_chunk_size") || !json.mentions("attention_chunk_size");
    const std::int64_t chunk = chunked ? json.size({"attention_chunk_size"}, kMaxContext, 8192) : 0;
    const std::vector<std::string> kinds = json.texts("layer_types", c.n_layers);
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const std::string own = kinds.empty() ? "" : kinds[static_cast<std::size_t>(l)];
        if (!own.empty() && own != "full_attention" && (own != "chunked_attention" || !chunked))
            json.unsupported("layer_types", chunked ? "\"full_attention\" or \"chunked_attention\"" : "\"full_attention\"");
        const bool in_chunks = own.empty() ? c.layer_rope[static_cast<std::size_t>(l)] != LayerRope::none : own[0] == 'c';
        c.windows.push_back(in_chunks ? -chunk : 0);
    }
    if (std::ranges::count(c.windows, 0) == c.n_layers) c.windows.clear();
    if (std::ranges::count(c.layer_rope, LayerRope::none) == 0) c.layer_rope.clear();
}

/// Files of 2025 have a number in the place of the flag.
bool tunes_temperature(const ConfigReader& json) {
    if (json.raw("attn_temperature_tuning").is_number()) return json.signed_number({"attn_temperature_tuning"}, 0) != 0;
    return json.flag("attn_temperature_tuning", true);
}

void read_experts(const ConfigReader& json, ModelConfig& c) {
    Experts& e = c.experts;
    e = {.count = json.size({"num_local_experts"}, kMaxExperts, 16),
         .chosen = json.size({"num_experts_per_tok"}, kMaxExperts, 1),
         .width = c.d_mlp,
         .shared_width = c.d_mlp,
         .sigmoid = true,
         .weighs_input = true,
         .dense_width = json.size({"intermediate_size_mlp"}, kMaxWidth, 16384)};
    const std::int64_t step = json.size({"interleave_moe_layer_step"}, kMaxLayers, 1);
    const std::vector<std::int64_t> named = listed(json, "moe_layers");
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        e.layers.push_back(json.has("moe_layers") ? std::ranges::find(named, l) != named.end() : (l + 1) % step == 0);
    if (std::ranges::find(e.layers, true) == e.layers.end()) {  // a dense model
        c.d_mlp = e.dense_width;
        e = {};
        return;
    }
    finish_experts(json, c, "num_experts_per_tok", "num_local_experts");
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c =
        llama_config(json, {.kv_heads = 8, .d_head = 128, .context = 131072, .epsilon = 1e-5, .rope_theta = 500000.0});
    c.query_bias = json.flag("attention_bias", false);
    c.rope_interleaved = true;
    read_layers(json, c);
    if (json.flag("use_qk_norm", true)) {
        c.qk_norm = QkNorm::head;
        c.norm_after_rotation = c.norm_rotated = true;
        c.qk_norm_gain = false;
    }
    if (tunes_temperature(json) && !c.layer_rope.empty())
        c.query_growth = {.beta = json.signed_number({"attn_scale"}, 0.1),
                          .context = json.size({"floor_scale"}, kMaxContext, 8192),
                          .first = 1,
                          .unrotated = true};
    read_experts(json, c);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::string at = "feed_forward.";
    WeightMap map = llama_map(c, {.o_bias = c.query_bias, .mlp = at});
    if (c.experts.count == 0) return map;
    const Experts& e = c.experts;
    const std::size_t before = map.rows.size();
    add_expert_rows(map, c, {.router = at + "router.weight", .gate = {}, .up = {}, .down = {}, .shared = at + "shared_expert."});
    const std::vector<std::int64_t> layers = map.rows[before].layers;
    const std::string expert = "layers.#." + at + "experts.";
    map.rows.push_back({.slot = Slot::experts_halves_weight,
                        .names = {expert + "gate_up_proj"},
                        .shape = {e.count, c.d_model, 2 * e.width},
                        .layout = Layout::in_out,
                        .layers = layers});
    map.rows.push_back({.slot = Slot::experts_out_weight,
                        .names = {expert + "down_proj"},
                        .shape = {e.count, e.width, c.d_model},
                        .layout = Layout::in_out,
                        .layers = layers});
    return map;
}

constexpr std::string_view kArchitectures[] = {"Llama4ForCausalLM", "Llama4TextModel"};

}  // namespace llama4

const Family kLlama4 = {"llama4_text",        llama4::kArchitectures, "llama4_text",
                        llama4::parse_config, llama4::weight_map,     llama_spec};

}  // namespace headlight::model
