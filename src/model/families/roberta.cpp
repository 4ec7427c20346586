// SPDX-License-Identifier: GPL-3.0-or-later
// RoBERTa and XLM-R: BERT whose positions are counted from behind the padding id. DistilBERT: BERT without token types.
// ELECTRA: BERT with narrower embeddings.
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

#include <cmath>

namespace headlight::model {
namespace roberta {

/// What every encoder normalised behind its sub-layers has in common.
void set_encoder(const ConfigReader& json, ModelConfig& c) {
    json.require_flag("is_decoder", false, false);
    json.require_flag("add_cross_attention", false, false);
    if (json.text({"position_embedding_type"}, "absolute") != "absolute")
        json.unsupported("position_embedding_type", "\"absolute\"");
    c.n_kv_heads = c.n_heads;
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.causal = false;
    c.post_norm = true;
    c.embed_norm = true;
    c.query_bias = true;
    c.final_norm = false;
    c.mlm_head = true;  // until the weights turn out to have none
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_eps"}, 1e-12);
    c.positions = Positions::learned;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
}

ModelConfig parse_like_bert(const ConfigReader& json) {
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.d_head = head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.type_vocab_size = json.size({"type_vocab_size"}, kMaxWidth, 2);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth, 512);
    c.activation = read_activation(json, "hidden_act", "gelu");
    set_encoder(json, c);
    return c;
}

ModelConfig parse_roberta(const ConfigReader& json) {
    ModelConfig c = parse_like_bert(json);
    c.position_pad_id = static_cast<std::int64_t>(json.signed_number({"pad_token_id"}, 1));
    c.position_offset = c.position_pad_id + 1;
    c.context_length -= c.position_offset;
    if (c.position_pad_id < 0 || c.context_length < 1)
        json.wrong("pad_token_id", "a token id below max_position_embeddings", std::to_string(c.position_pad_id));
    return c;
}

void add_embeddings(WeightMap& map, const ModelConfig& c) {
    const std::int64_t e = embedding_width(c);
    map.rows.push_back({Slot::embed, {"embeddings.word_embeddings.weight"}, {c.vocab_size, e}});
    map.rows.push_back({Slot::pos_embed, {"embeddings.position_embeddings.weight"}, {c.context_length + c.position_offset, e}});
    if (c.type_vocab_size > 0)
        map.rows.push_back({Slot::token_type_embed, {"embeddings.token_type_embeddings.weight"}, {c.type_vocab_size, e}});
    add_norm(map, Slot::embed_norm_gain, Slot::embed_norm_bias, "embeddings.LayerNorm", e);
}

void add_bert_layers(WeightMap& map, const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    const std::string layer = "encoder.layer.#.";
    add_linear(map, Slot::q_weight, Slot::q_bias, layer + "attention.self.query", d, d, true);
    add_linear(map, Slot::k_weight, Slot::k_bias, layer + "attention.self.key", d, d, true);
    add_linear(map, Slot::v_weight, Slot::v_bias, layer + "attention.self.value", d, d, true);
    add_linear(map, Slot::o_weight, Slot::o_bias, layer + "attention.output.dense", d, d, true);
    add_norm(map, Slot::ln1_gain, Slot::ln1_bias, layer + "attention.output.LayerNorm", d);
    add_linear(map, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "intermediate.dense", m, d, true);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "output.dense", d, m, true);
    add_norm(map, Slot::ln2_gain, Slot::ln2_bias, layer + "output.LayerNorm", d);
}

struct HeadNames {
    std::string dense, norm, decoder, bias;
};

/// The masked-word head; models without one lack all of it.
void add_head(WeightMap& map, const ModelConfig& c, const HeadNames& names) {
    const std::int64_t e = embedding_width(c);
    const bool optional = !c.architecture.ends_with("ForMaskedLM");
    WeightMap head;
    add_linear(head, Slot::mlm_weight, Slot::mlm_bias, names.dense, e, c.d_model, true);
    add_norm(head, Slot::mlm_norm_gain, Slot::mlm_norm_bias, names.norm, e);
    std::vector<std::string> bias = {names.bias};
    if (names.decoder + ".bias" != names.bias) bias.push_back(names.decoder + ".bias");
    head.rows.push_back({Slot::unembed_bias, bias, {c.vocab_size}});
    if (!c.tied_unembedding) head.rows.push_back({Slot::unembed, {names.decoder + ".weight"}, {c.vocab_size, e}, Layout::out_in});
    map.ignored.push_back("*" + names.decoder + ".*");
    map.ignored.push_back("*" + names.bias);
    for (WeightRow& row : head.rows) {
        row.head = optional;
        map.rows.push_back(std::move(row));
    }
}

WeightMap roberta_map(const ModelConfig& c) {
    WeightMap map;
    map.prefixes = {"roberta.", ""};
    map.head_name = "MLM head";
    map.ignored = {"*embeddings.position_ids", "*pooler.dense.*"};
    add_embeddings(map, c);
    add_bert_layers(map, c);
    add_head(map, c, {"lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias"});
    return map;
}

ModelConfig parse_electra(const ConfigReader& json) {
    ModelConfig c = parse_like_bert(json);
    const std::int64_t e = json.size({"embedding_size"}, kMaxWidth, 128);
    if (e != c.d_model) c.d_embed = e;
    return c;
}

WeightMap electra_map(const ModelConfig& c) {
    WeightMap map;
    map.prefixes = {"electra.", ""};
    map.head_name = "generator's head";
    map.ignored = {"*embeddings.position_ids", "*discriminator_predictions.*"};
    add_embeddings(map, c);
    if (c.d_embed > 0)
        add_linear(map, Slot::embed_projection_weight, Slot::embed_projection_bias, "embeddings_project", c.d_model, c.d_embed,
                   true);
    add_bert_layers(map, c);
    add_head(map, c,
             {"generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head", "generator_lm_head.bias"});
    return map;
}

ModelConfig parse_distilbert(const ConfigReader& json) {
    ModelConfig c;
    c.n_layers = json.size({"n_layers", "num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"dim", "hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"n_heads", "num_attention_heads"}, kMaxHeads);
    c.d_head = head_width(json, "n_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"hidden_dim"}, kMaxWidth, 4 * c.d_model);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth, 512);
    c.activation = c.mlm_activation = read_activation(json, "activation", "gelu");
    set_encoder(json, c);
    c.norm_epsilon = 1e-12;
    return c;
}

WeightMap distilbert_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    const std::string layer = "transformer.layer.#.", attention = layer + "attention.";
    WeightMap map;
    map.prefixes = {"distilbert.", ""};
    map.head_name = "MLM head";
    map.ignored = {"*embeddings.position_ids"};
    add_embeddings(map, c);
    add_linear(map, Slot::q_weight, Slot::q_bias, attention + "q_lin", d, d, true);
    add_linear(map, Slot::k_weight, Slot::k_bias, attention + "k_lin", d, d, true);
    add_linear(map, Slot::v_weight, Slot::v_bias, attention + "v_lin", d, d, true);
    add_linear(map, Slot::o_weight, Slot::o_bias, attention + "out_lin", d, d, true);
    add_norm(map, Slot::ln1_gain, Slot::ln1_bias, layer + "sa_layer_norm", d);
    add_linear(map, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "ffn.lin1", m, d, true);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "ffn.lin2", d, m, true);
    add_norm(map, Slot::ln2_gain, Slot::ln2_bias, layer + "output_layer_norm", d);
    add_head(map, c, {"vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias"});
    return map;
}

Spec spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding, Block::position_embedding}, .layer = {Block::attention, Block::mlp}, .after = {}};
    if (c.type_vocab_size > 0) s.before.push_back(Block::token_type_embedding);
    s.before.push_back(Block::embedding_norm);
    if (c.d_embed > 0) s.before.push_back(Block::embedding_projection);
    if (c.mlm_head) s.after = {Block::mlm_head, Block::unembedding};
    return s;
}

constexpr std::string_view kRobertaNames[] = {"RobertaModel", "RobertaForMaskedLM", "XLMRobertaModel", "XLMRobertaForMaskedLM"};
constexpr std::string_view kElectraNames[] = {"ElectraModel", "ElectraForMaskedLM", "ElectraForPreTraining"};
constexpr std::string_view kDistilbertNames[] = {"DistilBertModel", "DistilBertForMaskedLM"};

}  // namespace roberta

const Family kRoberta = {"roberta",    roberta::kRobertaNames, "roberta", roberta::parse_roberta, roberta::roberta_map,
                         roberta::spec};
const Family kElectra = {"electra",    roberta::kElectraNames, "electra", roberta::parse_electra, roberta::electra_map,
                         roberta::spec};
const Family kDistilbert = {
    "distilbert", roberta::kDistilbertNames, "distilbert", roberta::parse_distilbert, roberta::distilbert_map, roberta::spec};

}  // namespace headlight::model
