// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/encoders/encoder_shape.h"

#include "model/load/config_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::model {

ModelConfig encoder_config(const ConfigReader& json) {
    std::string_view heads = "num_attention_heads";
    for (const std::string_view other : {"n_heads", "n_head"})
        if (!json.has(heads) && json.has(other)) heads = other;
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers", "n_layers", "n_layer"}, kMaxLayers);
    c.d_model = json.size({"hidden_size", "dim", "n_embd"}, kMaxWidth);
    c.n_heads = c.n_kv_heads = json.size({heads}, kMaxHeads);
    c.d_head = json.has("head_dim") ? json.size({"head_dim"}, kMaxWidth) : head_width(json, heads, c.d_model, c.n_heads);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.causal = false;
    c.post_norm = true;
    c.embed_norm = true;
    c.query_bias = true;
    c.final_norm = false;
    c.mlm_head = true;  // until the weights turn out to have none
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_eps", "layer_norm_epsilon"}, 1e-12);
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    return c;
}

ModelConfig bert_config(const ConfigReader& json, const std::string& activation) {
    json.require_flag("is_decoder", false, false);
    json.require_flag("add_cross_attention", false, false);
    ModelConfig c = encoder_config(json);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.type_vocab_size = json.size({"type_vocab_size"}, kMaxWidth, 2);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth, 512);
    c.activation = read_activation(json, "hidden_act", activation);
    const std::string kind = json.text({"position_embedding_type"}, "absolute");
    if (kind != "absolute" && kind != "relative_key" && kind != "relative_key_query")
        json.unsupported("position_embedding_type", "\"absolute\", \"relative_key\" or \"relative_key_query\"");
    c.positions = kind == "absolute" ? Positions::learned : Positions::none;
    c.disentangled = {.content_to_position = kind != "absolute",
                      .position_to_content = kind == "relative_key_query",
                      .by_layer = kind != "absolute",
                      .span = kind != "absolute" ? c.context_length : 0,
                      .max_distance = kind != "absolute" ? c.context_length : 0};
    return c;
}

void read_attention_windows(const ConfigReader& json, ModelConfig& c) {
    const char* const field = "attention_window";
    std::vector<std::int64_t> windows =
        json.raw(field).is_array() ? json.integers(field, c.n_layers) : std::vector<std::int64_t>();
    if (windows.empty()) windows.assign(static_cast<std::size_t>(c.n_layers), json.size({field}, kMaxContext, 512));
    for (const std::int64_t window : windows) {
        if (window < 2 || window > kMaxContext || window % 2 != 0)
            json.wrong(field, "even numbers from 2 to " + std::to_string(kMaxContext), std::to_string(window));
        c.windows.push_back(window / 2 + 1);
    }
}

void add_bert_embeddings(WeightMap& map, const ModelConfig& c, const std::string& norm) {
    const std::string at = "embeddings.";
    const std::int64_t e = embedding_width(c);
    map.rows.push_back({Slot::embed, {at + "word_embeddings.weight"}, {c.vocab_size, e}});
    if (c.positions == Positions::learned)
        map.rows.push_back({Slot::pos_embed, {at + "position_embeddings.weight"}, {c.context_length + c.position_offset, e}});
    if (c.disentangled.by_layer) map.ignored.push_back("*" + at + "position_embeddings.weight");
    if (c.type_vocab_size > 0)
        map.rows.push_back({Slot::token_type_embed, {at + "token_type_embeddings.weight"}, {c.type_vocab_size, e}});
    if (c.embed_norm) add_norm(map, Slot::embed_norm_gain, norm, e);
}

LayerNames bert_layer() {
    return {.at = "encoder.layer.#.",
            .ln1 = "attention.output.LayerNorm",
            .ln2 = "output.LayerNorm",
            .qkv = {"attention.self.query", "attention.self.key", "attention.self.value"},
            .o = "attention.output.dense",
            .mlp_in = "intermediate.dense",
            .mlp_out = "output.dense"};
}

std::vector<std::string> biases_of_head(const ModelConfig& c) {
    std::vector<std::string> names{"lm_head.bias", "lm_head.decoder.bias"};
    if (!c.tied_unembedding) std::ranges::reverse(names);
    return names;
}

void add_masked_word_head(WeightMap& map, const ModelConfig& c, const MaskedWordHead& names) {
    const std::int64_t e = embedding_width(c);
    WeightMap head;
    add_linear(head, Slot::mlm_weight, names.dense, e, c.d_model, names.with_bias);
    add_norm(head, Slot::mlm_norm_gain, names.norm, e, names.with_bias);
    head.rows.push_back({Slot::unembed_bias, names.biases, {c.vocab_size}});
    if (!c.tied_unembedding) head.rows.push_back({Slot::unembed, {names.decoder + ".weight"}, {c.vocab_size, e}, Layout::out_in});
    for (WeightRow& row : head.rows) {
        row.head = !names.required && !c.architecture.ends_with("ForMaskedLM");
        map.rows.push_back(std::move(row));
    }
    // Copies of the embedding and of the bias.
    map.ignored.push_back("*" + names.decoder + ".*");
    for (const std::string& bias : names.biases) map.ignored.push_back("*" + bias);
    map.head_name = "MLM head";
}

Spec encoder_spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding}, .layer = {Block::attention, Block::mlp}, .after = {}};
    if (c.positions == Positions::learned) s.before.push_back(Block::position_embedding);
    if (c.type_vocab_size > 0) s.before.push_back(Block::token_type_embedding);
    if (c.embed_norm) s.before.push_back(Block::embedding_norm);
    if (c.d_embed > 0) s.before.push_back(Block::embedding_projection);
    if (c.disentangled.any() && !c.disentangled.by_layer) s.before.push_back(Block::relative_positions);
    if (c.convolution.any()) s.layer.push_back(Block::convolution);
    if (c.final_norm) s.after.push_back(Block::final_norm);
    if (c.mlm_head) s.after.insert(s.after.end(), {Block::mlm_head, Block::unembedding});
    return s;
}

}  // namespace headlight::model
