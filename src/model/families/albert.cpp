// SPDX-License-Identifier: GPL-3.0-or-later
// ALBERT: BERT whose layers are one, repeated, over embeddings that are narrower than the stream.
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

#include <cmath>

namespace headlight::model {
namespace albert {

ModelConfig parse_config(const ConfigReader& json) {
    for (const char* field : {"num_hidden_groups", "inner_group_num"})
        if (json.size({field}, kMaxLayers, 1) != 1) json.unsupported(field, "1");
    if (json.text({"position_embedding_type"}, "absolute") != "absolute")
        json.unsupported("position_embedding_type", "\"absolute\"");
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    c.d_embed = json.size({"embedding_size"}, kMaxWidth, 128);
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = c.n_heads;
    c.d_head = head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.type_vocab_size = json.size({"type_vocab_size"}, kMaxWidth, 2);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth, 512);
    c.causal = false;
    c.post_norm = true;
    c.embed_norm = true;
    c.query_bias = true;
    c.final_norm = false;
    c.mlm_head = true;  // until the weights turn out to have none
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_eps"}, 1e-12);
    c.activation = c.mlm_activation = read_activation(json, "hidden_act", "gelu_new");
    c.positions = Positions::learned;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp, e = c.d_embed;
    const std::string layer = "encoder.albert_layer_groups.0.albert_layers.0.", attention = layer + "attention.";
    WeightMap map, shared, head;
    map.prefixes = {"albert.", ""};
    map.head_name = "MLM head";
    map.ignored = {"*embeddings.position_ids", "*pooler.*", "*sop_classifier.*", "*predictions.decoder.*", "*predictions.bias"};
    map.rows = {{Slot::embed, {"embeddings.word_embeddings.weight"}, {c.vocab_size, e}},
                {Slot::pos_embed, {"embeddings.position_embeddings.weight"}, {c.context_length, e}},
                {Slot::token_type_embed, {"embeddings.token_type_embeddings.weight"}, {c.type_vocab_size, e}}};
    add_norm(map, Slot::embed_norm_gain, Slot::embed_norm_bias, "embeddings.LayerNorm", e);
    add_linear(map, Slot::embed_projection_weight, Slot::embed_projection_bias, "encoder.embedding_hidden_mapping_in", d, e,
               true);
    add_linear(shared, Slot::q_weight, Slot::q_bias, attention + "query", d, d, true);
    add_linear(shared, Slot::k_weight, Slot::k_bias, attention + "key", d, d, true);
    add_linear(shared, Slot::v_weight, Slot::v_bias, attention + "value", d, d, true);
    add_linear(shared, Slot::o_weight, Slot::o_bias, attention + "dense", d, d, true);
    add_norm(shared, Slot::ln1_gain, Slot::ln1_bias, attention + "LayerNorm", d);
    add_linear(shared, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "ffn", m, d, true);
    add_linear(shared, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "ffn_output", d, m, true);
    add_norm(shared, Slot::ln2_gain, Slot::ln2_bias, layer + "full_layer_layer_norm", d);
    add_linear(head, Slot::mlm_weight, Slot::mlm_bias, "predictions.dense", e, d, true);
    add_norm(head, Slot::mlm_norm_gain, Slot::mlm_norm_bias, "predictions.LayerNorm", e);
    head.rows.push_back({Slot::unembed_bias, {"predictions.bias", "predictions.decoder.bias"}, {c.vocab_size}});
    if (!c.tied_unembedding)
        head.rows.push_back({Slot::unembed, {"predictions.decoder.weight"}, {c.vocab_size, e}, Layout::out_in});
    for (WeightRow& row : shared.rows) {
        row.shared = true;
        map.rows.push_back(std::move(row));
    }
    for (WeightRow& row : head.rows) {
        row.head = !c.architecture.ends_with("ForMaskedLM");
        map.rows.push_back(std::move(row));
    }
    return map;
}

Spec spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding, Block::position_embedding, Block::token_type_embedding, Block::embedding_norm,
                      Block::embedding_projection},
           .layer = {Block::attention, Block::mlp},
           .after = {}};
    if (c.mlm_head) s.after = {Block::mlm_head, Block::unembedding};
    return s;
}

constexpr std::string_view kArchitectures[] = {"AlbertModel", "AlbertForMaskedLM", "AlbertForPreTraining"};

}  // namespace albert

const Family kAlbert = {"albert", albert::kArchitectures, "albert", albert::parse_config, albert::weight_map, albert::spec};

}  // namespace headlight::model
