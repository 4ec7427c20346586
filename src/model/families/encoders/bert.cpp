// SPDX-License-Identifier: GPL-3.0-or-later
// BERT: bidirectional, post-norm, token types for pairs, an optional masked-word head.
#include "model/families/encoders/encoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

#include <utility>

namespace headlight::model {
namespace bert {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = bert_config(json);
    c.mlm_activation = c.activation;
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::string head = "cls.predictions.";
    WeightMap map{.prefixes = {"bert.", ""},
                  .ignored = {"*embeddings.position_ids", "*pooler.dense.*", "*cls.seq_relationship.*"}};
    add_bert_embeddings(map, c);
    add_layers(map, c, bert_layer());
    // Tied, the decoder's bias is a copy of the head's; untied, it is the one that transformers adds.
    std::vector<std::string> biases = {head + "bias", head + "decoder.bias"};
    if (!c.tied_unembedding) std::swap(biases[0], biases[1]);
    add_masked_word_head(map, c,
                         {.dense = head + "transform.dense",
                          .norm = head + "transform.LayerNorm",
                          .decoder = head + "decoder",
                          .biases = biases,
                          .required = c.architecture == "BertForPreTraining"});
    return map;
}

constexpr std::string_view kArchitectures[] = {"BertModel", "BertForMaskedLM", "BertForPreTraining"};

}  // namespace bert

const Family kBert = {"bert", bert::kArchitectures, "bert", bert::parse_config, bert::weight_map, encoder_spec};

}  // namespace headlight::model
