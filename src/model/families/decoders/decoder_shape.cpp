// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/decoders/decoder_shape.h"

#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {

void read_gpt2_sizes(const ConfigReader& json, ModelConfig& c, std::int64_t max_context, std::optional<std::int64_t> context) {
    read_sizes(json, c, {"n_layer", "num_hidden_layers"}, {"n_embd", "hidden_size"}, {"n_head", "num_attention_heads"});
    c.d_mlp = json.size({"n_inner"}, kMaxWidth, 4 * c.d_model);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"n_positions", "max_position_embeddings", "n_ctx"}, max_context, context);
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
}

void read_decoder_sizes(const ConfigReader& json, ModelConfig& c, std::int64_t max_context) {
    read_sizes(json, c, {"num_hidden_layers"}, {"hidden_size"}, {"num_attention_heads"});
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, max_context, 2048);
}

void add_decoder(WeightMap& map, const ModelConfig& c, const DecoderNames& names) {
    const std::int64_t d = c.d_model;
    map.head_name = "language model head";
    map.rows.push_back({Slot::embed, {names.embed + ".weight"}, {c.vocab_size, d}});
    if (!names.pos_embed.empty())
        map.rows.push_back({Slot::pos_embed, {names.pos_embed + ".weight"}, {c.context_length + c.position_offset, d}});
    if (!names.embed_norm.empty()) add_norm(map, Slot::embed_norm_gain, names.embed_norm, d);
    add_layers(map, c, names.layer);
    if (c.final_norm && c.norm_gain) add_norm(map, Slot::final_norm_gain, names.final_norm, d, names.layer.norm_bias);
    add_language_head(map, c, names.head + ".weight");
    if (names.head_bias)
        map.rows.push_back({.slot = Slot::unembed_bias,
                            .names = {names.head + ".bias"},
                            .shape = {c.vocab_size},
                            .head = !c.architecture.ends_with("ForCausalLM")});
}

Spec decoder_spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding}, .layer = {Block::attention, Block::mlp}, .after = {}};
    if (c.final_norm) s.after.push_back(Block::final_norm);
    s.after.push_back(Block::unembedding);
    if (c.positions == Positions::learned) s.before.push_back(Block::position_embedding);
    if (c.embed_norm) s.before.push_back(Block::embedding_norm);
    return s;
}

}  // namespace headlight::model
