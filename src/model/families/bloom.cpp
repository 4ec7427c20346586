// SPDX-License-Identifier: GPL-3.0-or-later
// BLOOM: ALiBi, LayerNorm after the embedding, q, k and v interleaved per head in one matrix.
#include "model/families/registry.h"
#include "model/load/config_reader.h"

#include <cmath>

namespace headlight::model {
namespace bloom {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    c.n_layers = json.size({"n_layer", "num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size", "n_embed"}, kMaxWidth);
    c.n_heads = json.size({"n_head", "num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = c.n_heads;
    c.d_head = head_width(json, "n_head", c.d_model, c.n_heads);
    c.d_mlp = 4 * c.d_model;
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.has("seq_length") ? json.size({"seq_length"}, kMaxContext) : 0;
    c.context_is_hard_limit = false;
    c.embed_norm = true;
    c.residual_after_norm = json.flag("apply_residual_connection_post_layernorm", false);
    c.query_bias = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
    c.activation = Activation::gelu_bloom;
    c.positions = Positions::alibi;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    WeightMap map;
    map.prefixes = {"transformer.", ""};
    map.qkv = QkvLayout::per_head;
    map.head_name = "language model head";
    map.ignored = {};
    map.rows = {
        {Slot::embed, {"word_embeddings.weight"}, {c.vocab_size, d}},
        {Slot::embed_norm_gain, {"word_embeddings_layernorm.weight"}, {d}},
        {Slot::embed_norm_bias, {"word_embeddings_layernorm.bias"}, {d}},
        {Slot::ln1_gain, {"h.#.input_layernorm.weight"}, {d}},
        {Slot::ln1_bias, {"h.#.input_layernorm.bias"}, {d}},
        {Slot::qkv_weight, {"h.#.self_attention.query_key_value.weight"}, {3 * d, d}, Layout::out_in},
        {Slot::qkv_bias, {"h.#.self_attention.query_key_value.bias"}, {3 * d}},
        {Slot::o_weight, {"h.#.self_attention.dense.weight"}, {d, d}, Layout::out_in},
        {Slot::o_bias, {"h.#.self_attention.dense.bias"}, {d}},
        {Slot::ln2_gain, {"h.#.post_attention_layernorm.weight"}, {d}},
        {Slot::ln2_bias, {"h.#.post_attention_layernorm.bias"}, {d}},
        {Slot::mlp_in_weight, {"h.#.mlp.dense_h_to_4h.weight"}, {m, d}, Layout::out_in},
        {Slot::mlp_in_bias, {"h.#.mlp.dense_h_to_4h.bias"}, {m}},
        {Slot::mlp_out_weight, {"h.#.mlp.dense_4h_to_h.weight"}, {d, m}, Layout::out_in},
        {Slot::mlp_out_bias, {"h.#.mlp.dense_4h_to_h.bias"}, {d}},
        {Slot::final_norm_gain, {"ln_f.weight"}, {d}},
        {Slot::final_norm_bias, {"ln_f.bias"}, {d}},
    };
    add_language_head(map, c, "lm_head.weight");
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::token_embedding, Block::embedding_norm},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm, Block::unembedding}};
}

constexpr std::string_view kArchitectures[] = {"BloomForCausalLM", "BloomModel"};

}  // namespace bloom

const Family kBloom = {"bloom", bloom::kArchitectures, "bloom", bloom::parse_config, bloom::weight_map, bloom::spec};

}  // namespace headlight::model
