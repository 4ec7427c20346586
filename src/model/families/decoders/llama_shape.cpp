// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/decoders/llama_shape.h"

#include "model/load/rope_config.h"

#include <cmath>

namespace headlight::model {

ModelConfig llama_config(const ConfigReader& json, const LlamaDefaults& other) {
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = read_kv_heads(json, c, other.kv_heads);
    if (json.has("head_dim"))
        c.d_head = json.size({"head_dim"}, kMaxWidth);
    else
        c.d_head = other.d_head ? *other.d_head : head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, other.context);
    c.context_is_hard_limit = false;
    c.gated_mlp = true;
    c.mlp_bias = false;
    c.tied_unembedding = json.flag("tie_word_embeddings", other.tied);
    c.norm = Norm::rms_norm;
    c.norm_epsilon = json.number({other.epsilon_field}, other.epsilon);
    c.activation = read_activation(json, other.activation_field, std::string(other.activation));
    c.positions = Positions::rotary;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    read_rope(json, c, other.rope_share, other.rope_theta);
    return c;
}

namespace {

void add_attention(WeightMap& map, const ModelConfig& c, const LlamaRows& rows) {
    const std::int64_t d = c.d_model, q = c.n_heads * c.d_head, kv = c.n_kv_heads * c.d_head;
    const std::string at = "layers.#.self_attn.";
    if (rows.fused) {
        map.qkv = QkvLayout::blocks;
        map.rows.push_back({Slot::qkv_weight, {at + "qkv_proj.weight"}, {q + 2 * kv, d}, Layout::out_in});
    } else {
        map.rows.push_back({Slot::q_weight, {at + "q_proj.weight"}, {q, d}, Layout::out_in});
        map.rows.push_back({Slot::k_weight, {at + "k_proj.weight"}, {kv, d}, Layout::out_in});
        map.rows.push_back({Slot::v_weight, {at + "v_proj.weight"}, {kv, d}, Layout::out_in});
    }
    map.rows.push_back({.slot = Slot::o_weight,
                        .names = {at + "o_proj.weight"},
                        .shape = {d, q},
                        .layout = Layout::out_in,
                        .times = c.residual_scale});
    if (c.query_bias) {
        map.rows.push_back({Slot::q_bias, {at + "q_proj.bias"}, {q}});
        map.rows.push_back({Slot::k_bias, {at + "k_proj.bias"}, {kv}});
        map.rows.push_back({Slot::v_bias, {at + "v_proj.bias"}, {kv}});
    }
    if (rows.o_bias)
        map.rows.push_back({.slot = Slot::o_bias, .names = {at + "o_proj.bias"}, .shape = {d}, .times = c.residual_scale});
    if (c.qk_norm == QkNorm::none || !c.qk_norm_gain) return;
    const auto shape = [&](std::int64_t heads) -> std::vector<std::int64_t> {
        if (c.qk_norm == QkNorm::each_head) return {heads, c.d_head};
        return {c.qk_norm == QkNorm::whole ? heads * c.d_head : c.d_head};
    };
    map.rows.push_back({.slot = Slot::q_norm_gain,
                        .names = {at + std::string(rows.q_norm) + ".weight"},
                        .shape = shape(c.n_heads),
                        .plus = rows.gain_plus});
    map.rows.push_back({.slot = Slot::k_norm_gain,
                        .names = {at + std::string(rows.k_norm) + ".weight"},
                        .shape = shape(c.n_kv_heads),
                        .plus = rows.gain_plus});
}

void add_mlp(WeightMap& map, const ModelConfig& c, const LlamaRows& rows) {
    std::vector<std::int64_t> dense;  // where the others have experts
    for (std::int64_t l = 0; l < c.n_layers && c.experts.count > 0; ++l)
        if (!has_experts(c, l)) dense.push_back(l);
    if (c.experts.count > 0 && dense.empty()) return;
    const std::size_t before = map.rows.size();
    const std::int64_t d = c.d_model, m = c.experts.count > 0 ? c.experts.dense_width : c.d_mlp;
    const std::string at = "layers.#." + std::string(rows.mlp);
    const std::string in = at + std::string(rows.mlp_in), up = at + std::string(rows.mlp_up),
                      out = at + std::string(rows.mlp_out);
    if (rows.fused || rows.fused_mlp) {
        map.rows.push_back({Slot::mlp_gate_up_weight, {at + "gate_up_proj.weight"}, {2 * m, d}, Layout::out_in});
    } else {
        map.rows.push_back({Slot::mlp_in_weight, {in + ".weight"}, {m, d}, Layout::out_in});
        if (c.gated_mlp) map.rows.push_back({Slot::mlp_up_weight, {up + ".weight"}, {m, d}, Layout::out_in});
    }
    map.rows.push_back({.slot = Slot::mlp_out_weight,
                        .names = {out + ".weight"},
                        .shape = {d, m},
                        .layout = Layout::out_in,
                        .times = c.residual_scale});
    if (c.mlp_bias) {
        map.rows.push_back({Slot::mlp_in_bias, {in + ".bias"}, {m}});
        if (c.gated_mlp) map.rows.push_back({Slot::mlp_up_bias, {up + ".bias"}, {m}});
        map.rows.push_back({.slot = Slot::mlp_out_bias, .names = {out + ".bias"}, .shape = {d}, .times = c.residual_scale});
    }
    for (std::size_t i = before; i < map.rows.size(); ++i) map.rows[i].layers = dense;
}

}  // namespace

WeightMap llama_map(const ModelConfig& c, const LlamaRows& rows) {
    WeightMap map;
    map.prefixes = {"model.", ""};
    map.head_name = "language model head";
    map.ignored = {"*rotary_emb.inv_freq"};
    map.rows = {{Slot::embed, {"embed_tokens.weight"}, {c.vocab_size, c.d_model}}};
    const auto add_norm = [&](Slot gain, Slot bias, const std::string& name, double times = 1.0) {
        if (!c.norm_gain) return;
        map.rows.push_back(
            {.slot = gain, .names = {name + ".weight"}, .shape = {c.d_model}, .times = times, .plus = rows.gain_plus * times});
        if (rows.norm_bias) map.rows.push_back({.slot = bias, .names = {name + ".bias"}, .shape = {c.d_model}, .times = times});
    };
    const auto layer_norm = [&](Slot gain, Slot bias, std::string_view name) {
        add_norm(gain, bias, "layers.#." + std::string(name));
    };
    if (c.input_norm) layer_norm(Slot::ln1_gain, Slot::ln1_bias, rows.ln1);
    if (c.branch_norm) layer_norm(Slot::ln1_post_gain, Slot::ln1_post_bias, rows.ln1_post);
    if (c.input_norm && !c.shared_norm) layer_norm(Slot::ln2_gain, Slot::ln2_bias, rows.ln2);
    if (c.branch_norm) layer_norm(Slot::ln2_post_gain, Slot::ln2_post_bias, rows.ln2_post);
    add_norm(Slot::final_norm_gain, Slot::final_norm_bias, "norm", c.logit_scale);
    add_attention(map, c, rows);
    add_mlp(map, c, rows);
    add_language_head(map, c, "lm_head.weight");
    if (rows.head_bias)
        map.rows.push_back({.slot = Slot::unembed_bias,
                            .names = {"lm_head.bias"},
                            .shape = {c.vocab_size},
                            .head = !c.architecture.ends_with("ForCausalLM")});
    return map;
}

WeightMap llama_weights(const ModelConfig& c) { return llama_map(c, {.o_bias = c.query_bias}); }

Spec llama_spec(const ModelConfig&) {
    return {.before = {Block::token_embedding},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm, Block::unembedding}};
}

void read_window(const ConfigReader& json, ModelConfig& c, std::optional<std::int64_t> fallback) {
    if (json.mentions("sliding_window") && !json.has("sliding_window")) return;
    if (!json.has("sliding_window") && !fallback) return;
    c.windows.assign(static_cast<std::size_t>(c.n_layers), json.size({"sliding_window"}, kMaxContext, fallback));
}

void read_qwen_windows(const ConfigReader& json, ModelConfig& c) {
    const bool used = json.flag("use_sliding_window", false) && (json.has("sliding_window") || !json.mentions("sliding_window"));
    const std::int64_t window = used ? json.size({"sliding_window"}, kMaxContext, 4096) : 0;
    const double first = json.signed_number({"max_window_layers"}, 28);
    if (json.has("layer_types")) return read_layer_types(json, c, window, [](std::int64_t) { return false; });
    if (!used) return;
    for (std::int64_t l = 0; l < c.n_layers; ++l) c.windows.push_back(static_cast<double>(l) >= first ? window : 0);
}

}  // namespace headlight::model
