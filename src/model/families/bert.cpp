// SPDX-License-Identifier: GPL-3.0-or-later
// BERT: looks both ways, normalises after each sub-layer, token types for pairs, maybe a masked-word head.
#include "headlight/base/error.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

#include <algorithm>
#include <cmath>

namespace headlight::model {
namespace bert {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("is_decoder", false, false);
    json.require_flag("add_cross_attention", false, false);
    if (json.text({"position_embedding_type"}, "absolute") != "absolute")
        json.unsupported("position_embedding_type", "\"absolute\"");
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = c.n_heads;
    c.d_head = head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.type_vocab_size = json.size({"type_vocab_size"}, kMaxWidth, 2);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth);
    c.causal = false;
    c.post_norm = true;
    c.embed_norm = true;
    c.query_bias = true;
    c.final_norm = false;
    c.mlm_head = true;  // until the weights turn out to have none
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_eps"}, 1e-12);
    c.activation = read_activation(json, "hidden_act", "gelu");
    c.mlm_activation = c.activation;
    c.positions = Positions::learned;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    return c;
}

/// Old checkpoints call gain and bias of a LayerNorm gamma and beta.
std::vector<std::string> gain(const std::string& norm) { return {norm + ".weight", norm + ".gamma"}; }
std::vector<std::string> bias(const std::string& norm) { return {norm + ".bias", norm + ".beta"}; }

void add_mlm_head(WeightMap& map, const ModelConfig& c) {
    static constexpr std::string_view kWithHead[] = {"BertForMaskedLM", "BertForPreTraining"};
    const bool optional = std::ranges::find(kWithHead, c.architecture) == std::end(kWithHead);
    const std::int64_t d = c.d_model;
    const std::string head = "cls.predictions.", transform = head + "transform.";
    // Tied, the decoder's bias is a copy of the head's; untied, it is the one that transformers adds.
    std::vector<std::string> bias_names = {head + "bias", head + "decoder.bias"};
    if (!c.tied_unembedding) std::ranges::reverse(bias_names);
    std::vector<WeightRow> rows = {
        {Slot::mlm_weight, {transform + "dense.weight"}, {d, d}, Layout::out_in},
        {Slot::mlm_bias, {transform + "dense.bias"}, {d}},
        {Slot::mlm_norm_gain, gain(transform + "LayerNorm"), {d}},
        {Slot::mlm_norm_bias, bias(transform + "LayerNorm"), {d}},
        {Slot::unembed_bias, bias_names, {c.vocab_size}},
    };
    if (c.tied_unembedding) {
        map.ignored.push_back("*" + head + "decoder.*");  // copies of the embedding and of the bias
    } else {
        rows.push_back({Slot::unembed, {head + "decoder.weight"}, {c.vocab_size, d}, Layout::out_in});
        map.ignored.push_back("*" + head + "bias");
    }
    for (WeightRow& row : rows) {
        row.head = optional;
        map.rows.push_back(std::move(row));
    }
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    const std::string layer = "encoder.layer.#.";
    WeightMap map;
    map.prefixes = {"bert.", ""};
    map.head_name = "MLM head";
    map.ignored = {"*embeddings.position_ids", "*pooler.dense.*", "*cls.seq_relationship.*"};
    map.rows = {
        {Slot::embed, {"embeddings.word_embeddings.weight"}, {c.vocab_size, d}},
        {Slot::pos_embed, {"embeddings.position_embeddings.weight"}, {c.context_length, d}},
        {Slot::token_type_embed, {"embeddings.token_type_embeddings.weight"}, {c.type_vocab_size, d}},
        {Slot::embed_norm_gain, gain("embeddings.LayerNorm"), {d}},
        {Slot::embed_norm_bias, bias("embeddings.LayerNorm"), {d}},
        {Slot::q_weight, {layer + "attention.self.query.weight"}, {d, d}, Layout::out_in},
        {Slot::q_bias, {layer + "attention.self.query.bias"}, {d}},
        {Slot::k_weight, {layer + "attention.self.key.weight"}, {d, d}, Layout::out_in},
        {Slot::k_bias, {layer + "attention.self.key.bias"}, {d}},
        {Slot::v_weight, {layer + "attention.self.value.weight"}, {d, d}, Layout::out_in},
        {Slot::v_bias, {layer + "attention.self.value.bias"}, {d}},
        {Slot::o_weight, {layer + "attention.output.dense.weight"}, {d, d}, Layout::out_in},
        {Slot::o_bias, {layer + "attention.output.dense.bias"}, {d}},
        {Slot::ln1_gain, gain(layer + "attention.output.LayerNorm"), {d}},
        {Slot::ln1_bias, bias(layer + "attention.output.LayerNorm"), {d}},
        {Slot::mlp_in_weight, {layer + "intermediate.dense.weight"}, {m, d}, Layout::out_in},
        {Slot::mlp_in_bias, {layer + "intermediate.dense.bias"}, {m}},
        {Slot::mlp_out_weight, {layer + "output.dense.weight"}, {d, m}, Layout::out_in},
        {Slot::mlp_out_bias, {layer + "output.dense.bias"}, {d}},
        {Slot::ln2_gain, gain(layer + "output.LayerNorm"), {d}},
        {Slot::ln2_bias, bias(layer + "output.LayerNorm"), {d}},
    };
    add_mlm_head(map, c);
    return map;
}

Spec spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding, Block::position_embedding, Block::token_type_embedding, Block::embedding_norm},
           .layer = {Block::attention, Block::mlp},
           .after = {}};
    if (c.mlm_head) s.after = {Block::mlm_head, Block::unembedding};
    return s;
}

constexpr std::string_view kArchitectures[] = {"BertModel", "BertForMaskedLM", "BertForPreTraining"};

}  // namespace bert

const Family kBert = {"bert", bert::kArchitectures, "bert", bert::parse_config, bert::weight_map, bert::spec};

}  // namespace headlight::model
