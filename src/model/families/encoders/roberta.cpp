// SPDX-License-Identifier: GPL-3.0-or-later
// RoBERTa, XLM-R, CamemBERT and data2vec (text): BERT whose positions start after the padding id. DistilBERT: BERT without token
// types. ELECTRA: BERT with narrower embeddings. Longformer (Beltagy et al. 2020): RoBERTa with a window in each layer; its
// dilation is in no code of transformers.
#include "model/families/encoders/encoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace roberta {

ModelConfig parse_roberta(const ConfigReader& json) {
    ModelConfig c = bert_config(json);
    c.position_pad_id = static_cast<std::int64_t>(json.signed_number({"pad_token_id"}, 1));
    c.position_offset = c.position_pad_id + 1;
    c.context_length -= c.position_offset;
    if (c.position_pad_id < 0 || c.context_length < 1)
        json.wrong("pad_token_id", "a token id below max_position_embeddings", std::to_string(c.position_pad_id));
    return c;
}

ModelConfig parse_longformer(const ConfigReader& json) {
    // Their classes attend globally from [CLS] or the question, with projections of their own.
    const std::string architecture = json.architecture();
    for (const std::string_view ending : {"ForSequenceClassification", "ForQuestionAnswering", "ForMultipleChoice"})
        if (architecture.ends_with(ending))
            json.unsupported("architectures",
                             "LongformerModel, LongformerForMaskedLM or LongformerForTokenClassification: this "
                             "class attends globally from some tokens, which is not computed");
    ModelConfig c = parse_roberta(json);
    c.mlm_activation = Activation::gelu;
    read_attention_windows(json, c);
    return c;
}

WeightMap roberta_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"roberta.", "data2vec_text.", "longformer.", ""},
                  .ignored = {"*embeddings.position_ids", "*pooler.dense.*"}};
    // Projections of tokens that attend globally; there are none where no class chooses them.
    for (const char* const part : {"query", "key", "value"})
        if (c.family == "longformer") map.ignored.push_back("*attention.self." + std::string(part) + "_global.*");
    add_bert_embeddings(map, c);
    add_layers(map, c, bert_layer());
    add_masked_word_head(
        map, c,
        {.dense = "lm_head.dense", .norm = "lm_head.layer_norm", .decoder = "lm_head.decoder", .biases = biases_of_head(c)});
    return map;
}

ModelConfig parse_electra(const ConfigReader& json) {
    ModelConfig c = bert_config(json);
    const std::int64_t e = json.size({"embedding_size"}, kMaxWidth, 128);
    if (e != c.d_model) c.d_embed = e;
    return c;
}

WeightMap electra_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"electra.", ""}, .ignored = {"*embeddings.position_ids", "*discriminator_predictions.*"}};
    add_bert_embeddings(map, c);
    if (c.d_embed > 0) add_linear(map, Slot::embed_projection_weight, "embeddings_project", c.d_model, c.d_embed);
    add_layers(map, c, bert_layer());
    add_masked_word_head(map, c,
                         {.dense = "generator_predictions.dense",
                          .norm = "generator_predictions.LayerNorm",
                          .decoder = "generator_lm_head",
                          .biases = {"generator_lm_head.bias"}});
    map.head_name = "generator's head";
    return map;
}

ModelConfig parse_distilbert(const ConfigReader& json) {
    ModelConfig c = encoder_config(json);
    c.d_mlp = json.size({"hidden_dim"}, kMaxWidth, 4 * c.d_model);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth, 512);
    c.activation = c.mlm_activation = read_activation(json, "activation", "gelu");
    c.positions = Positions::learned;
    c.norm_epsilon = 1e-12;
    return c;
}

WeightMap distilbert_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"distilbert.", ""}, .ignored = {"*embeddings.position_ids"}};
    add_bert_embeddings(map, c);
    add_layers(map, c,
               {.at = "transformer.layer.#.",
                .ln1 = "sa_layer_norm",
                .ln2 = "output_layer_norm",
                .qkv = {"attention.q_lin", "attention.k_lin", "attention.v_lin"},
                .o = "attention.out_lin",
                .mlp_in = "ffn.lin1",
                .mlp_out = "ffn.lin2"});
    add_masked_word_head(map, c,
                         {.dense = "vocab_transform",
                          .norm = "vocab_layer_norm",
                          .decoder = "vocab_projector",
                          .biases = {"vocab_projector.bias"}});
    return map;
}

constexpr std::string_view kRobertaNames[] = {"RobertaModel",          "RobertaForMaskedLM",     "XLMRobertaModel",
                                              "XLMRobertaForMaskedLM", "CamembertModel",         "CamembertForMaskedLM",
                                              "Data2VecTextModel",     "Data2VecTextForMaskedLM"};
constexpr std::string_view kRobertaTypes[] = {"xlm-roberta", "camembert", "data2vec-text"};
constexpr std::string_view kLongformerNames[] = {"LongformerModel", "LongformerForMaskedLM"};
constexpr std::string_view kElectraNames[] = {"ElectraModel", "ElectraForMaskedLM", "ElectraForPreTraining"};
constexpr std::string_view kDistilbertNames[] = {"DistilBertModel", "DistilBertForMaskedLM"};

}  // namespace roberta

const Family kRoberta = {
    .name = "roberta",
    .architectures = roberta::kRobertaNames,
    .model_type = "roberta",
    .parse_config = roberta::parse_roberta,
    .weight_map = roberta::roberta_map,
    .spec = encoder_spec,
    .other_types = roberta::kRobertaTypes,
};
const Family kLongformer = {
    "longformer", roberta::kLongformerNames, "longformer", roberta::parse_longformer, roberta::roberta_map, encoder_spec};
const Family kElectra = {"electra",   roberta::kElectraNames, "electra", roberta::parse_electra, roberta::electra_map,
                         encoder_spec};
const Family kDistilbert = {
    "distilbert", roberta::kDistilbertNames, "distilbert", roberta::parse_distilbert, roberta::distilbert_map, encoder_spec};

}  // namespace headlight::model
