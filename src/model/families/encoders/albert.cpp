// SPDX-License-Identifier: GPL-3.0-or-later
// ALBERT: BERT with one layer repeated and embeddings narrower than the stream.
#include "model/families/encoders/encoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

#include <utility>

namespace headlight::model {
namespace albert {

ModelConfig parse_config(const ConfigReader& json) {
    for (const char* field : {"num_hidden_groups", "inner_group_num"})
        if (json.size({field}, kMaxLayers, 1) != 1) json.unsupported(field, "1");
    ModelConfig c = bert_config(json, "gelu_new");
    if (c.disentangled.any()) json.unsupported("position_embedding_type", "absolute");
    c.d_embed = json.size({"embedding_size"}, kMaxWidth, 128);
    c.mlm_activation = c.activation;
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"albert.", ""}, .ignored = {"*embeddings.position_ids", "*pooler.*", "*sop_classifier.*"}}, shared;
    add_bert_embeddings(map, c);
    add_linear(map, Slot::embed_projection_weight, "encoder.embedding_hidden_mapping_in", c.d_model, c.d_embed);
    add_layers(shared, c,
               {.at = "encoder.albert_layer_groups.0.albert_layers.0.",
                .ln1 = "attention.LayerNorm",
                .ln2 = "full_layer_layer_norm",
                .qkv = {"attention.query", "attention.key", "attention.value"},
                .o = "attention.dense",
                .mlp_in = "ffn",
                .mlp_out = "ffn_output"});
    for (WeightRow& row : shared.rows) {
        row.shared = true;
        map.rows.push_back(std::move(row));
    }
    add_masked_word_head(map, c,
                         {.dense = "predictions.dense",
                          .norm = "predictions.LayerNorm",
                          .decoder = "predictions.decoder",
                          .biases = {"predictions.bias", "predictions.decoder.bias"}});
    return map;
}

constexpr std::string_view kArchitectures[] = {"AlbertModel", "AlbertForMaskedLM", "AlbertForPreTraining"};

}  // namespace albert

const Family kAlbert = {"albert", albert::kArchitectures, "albert", albert::parse_config, albert::weight_map, encoder_spec};

}  // namespace headlight::model
