// SPDX-License-Identifier: GPL-3.0-or-later
// Llama: RMSNorm, rotary positions, gated MLP, several query heads to a key/value head.
#include "model/config_reader.h"
#include "model/families/registry.h"

#include <cmath>

namespace headlight::model {
namespace {

/// Rotation fields live in the config itself, in "rope_scaling", or (newer files) all in "rope_parameters".
void parse_rope(const ConfigReader& json, ModelConfig& c) {
    auto rope = json.object("rope_parameters");
    if (!rope) rope = json.object("rope_scaling");
    const double top = json.number({"rope_theta"}, 10000.0);
    c.rope_theta = rope ? rope->number({"rope_theta"}, top) : top;
    c.rope_dims = c.d_head;
    const auto whole_head_rotates = [](const ConfigReader& reader) {
        if (reader.number({"partial_rotary_factor"}, 1.0) != 1.0) reader.unsupported("partial_rotary_factor", "1.0");
    };
    whole_head_rotates(json);
    if (!rope) return;
    whole_head_rotates(*rope);
    const std::string type = rope->text({"rope_type", "type"}, "default");
    if (type == "default") return;
    if (type != "linear" && type != "llama3")
        rope->unsupported(rope->has("rope_type") ? "rope_type" : "type", "one of default, linear, llama3");
    c.rope_factor = rope->number({"factor"});
    c.rope_scaling = RopeScaling::linear;
    if (type == "linear") return;
    c.rope_scaling = RopeScaling::llama3;
    c.rope_low_freq_factor = rope->number({"low_freq_factor"});
    c.rope_high_freq_factor = rope->number({"high_freq_factor"});
    c.rope_original_context = rope->size({"original_max_position_embeddings"}, kMaxContext);
    if (c.rope_high_freq_factor <= c.rope_low_freq_factor)
        rope->wrong("high_freq_factor", "more than low_freq_factor " + std::to_string(c.rope_low_freq_factor),
                    std::to_string(c.rope_high_freq_factor));
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = json.size({"num_key_value_heads"}, kMaxHeads, c.n_heads);
    if (c.n_heads % c.n_kv_heads != 0)
        json.wrong("num_key_value_heads", "a divisor of num_attention_heads " + std::to_string(c.n_heads),
                   std::to_string(c.n_kv_heads));
    c.d_head = json.has("head_dim") ? json.size({"head_dim"}, kMaxWidth)
                                    : head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    if (c.d_head % 2 != 0) json.wrong("head_dim", "an even number, for rotation", std::to_string(c.d_head));
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    c.gated_mlp = true;
    c.query_bias = json.flag("attention_bias", false);
    c.mlp_bias = json.flag("mlp_bias", false);
    c.tied_unembedding = json.flag("tie_word_embeddings", false);
    c.norm = Norm::rms_norm;
    c.norm_epsilon = json.number({"rms_norm_eps"}, 1e-6);
    c.activation = read_activation(json, "hidden_act", "silu");
    c.positions = Positions::rotary;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    parse_rope(json, c);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp, q = c.n_heads * c.d_head, kv = c.n_kv_heads * c.d_head;
    const std::string attention = "layers.#.self_attn.", mlp = "layers.#.mlp.";
    WeightMap map;
    map.prefixes = {"model.", ""};
    map.head_name = "language model head";
    map.ignored = {"*rotary_emb.inv_freq"};
    map.rows = {
        {Slot::embed, {"embed_tokens.weight"}, {c.vocab_size, d}},
        {Slot::ln1_gain, {"layers.#.input_layernorm.weight"}, {d}},
        {Slot::q_weight, {attention + "q_proj.weight"}, {q, d}, Layout::out_in},
        {Slot::k_weight, {attention + "k_proj.weight"}, {kv, d}, Layout::out_in},
        {Slot::v_weight, {attention + "v_proj.weight"}, {kv, d}, Layout::out_in},
        {Slot::o_weight, {attention + "o_proj.weight"}, {d, q}, Layout::out_in},
        {Slot::ln2_gain, {"layers.#.post_attention_layernorm.weight"}, {d}},
        {Slot::mlp_in_weight, {mlp + "gate_proj.weight"}, {m, d}, Layout::out_in},
        {Slot::mlp_up_weight, {mlp + "up_proj.weight"}, {m, d}, Layout::out_in},
        {Slot::mlp_out_weight, {mlp + "down_proj.weight"}, {d, m}, Layout::out_in},
        {Slot::final_norm_gain, {"norm.weight"}, {d}},
    };
    if (c.query_bias) {
        map.rows.push_back({Slot::q_bias, {attention + "q_proj.bias"}, {q}});
        map.rows.push_back({Slot::k_bias, {attention + "k_proj.bias"}, {kv}});
        map.rows.push_back({Slot::v_bias, {attention + "v_proj.bias"}, {kv}});
        map.rows.push_back({Slot::o_bias, {attention + "o_proj.bias"}, {d}});
    }
    if (c.mlp_bias) {
        map.rows.push_back({Slot::mlp_in_bias, {mlp + "gate_proj.bias"}, {m}});
        map.rows.push_back({Slot::mlp_up_bias, {mlp + "up_proj.bias"}, {m}});
        map.rows.push_back({Slot::mlp_out_bias, {mlp + "down_proj.bias"}, {d}});
    }
    add_language_head(map, c, "lm_head.weight");
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::token_embedding},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm, Block::unembedding}};
}

constexpr std::string_view kArchitectures[] = {"LlamaForCausalLM", "LlamaModel"};

}  // namespace

const Family kLlama = {"llama", kArchitectures, "llama", parse_config, weight_map, spec};

}  // namespace headlight::model
