// SPDX-License-Identifier: GPL-3.0-or-later
// NomicBERT (nomic-embed-text): BERT with rotary positions, a gated MLP and no biases but those of the norms. Its files go
// by the names of their authors' code (GPT-2's fields, fused Wqkv); transformers 5 reads and writes the same names.
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"
#include "model/load/rope_config.h"

#include <cmath>

namespace headlight::model {
namespace nomic_bert {

/// Fields of the authors' code that change the numbers; transformers' own configuration has none of them.
void refuse_variants(const ConfigReader& json) {
    for (const char* field : {"prenorm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "rotary_emb_interleaved",
                              "use_rms_norm", "parallel_block", "causal", "add_cross_attention", "is_decoder"})
        json.require_flag(field, false, false);
    for (const char* field : {"rotary_emb_scale_base", "rotary_scaling_factor", "moe_every_n_layers"})
        if (json.has(field) && json.signed_number({field}, 0) > 0) json.unsupported(field, "no such value");
    if (json.number({"rotary_emb_fraction"}, 1.0) != 1.0) json.unsupported("rotary_emb_fraction", "1");
}

ModelConfig parse_config(const ConfigReader& json) {
    refuse_variants(json);
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers", "n_layer"}, kMaxLayers);
    c.d_model = json.size({"hidden_size", "n_embd"}, kMaxWidth);
    const char* heads_field = json.has("num_attention_heads") ? "num_attention_heads" : "n_head";
    c.n_heads = json.size({heads_field}, kMaxHeads);
    c.n_kv_heads = c.n_heads;
    c.d_head = json.has("head_dim") ? json.size({"head_dim"}, kMaxWidth) : head_width(json, heads_field, c.d_model, c.n_heads);
    c.d_mlp = json.size({"intermediate_size", "n_inner"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.type_vocab_size = json.size({"type_vocab_size"}, kMaxWidth, 2);
    c.context_length = json.size({"max_position_embeddings", "n_positions"}, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    c.causal = false;
    c.post_norm = true;
    c.embed_norm = true;
    c.gated_mlp = true;
    c.mlp_bias = false;
    c.final_norm = false;
    c.mlm_head = true;  // until the weights turn out to have none
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_eps", "layer_norm_epsilon"}, 1e-12);
    const bool swiglu = !json.has("hidden_act") && json.text({"activation_function"}, "swiglu") == "swiglu";
    if (!swiglu && !json.has("hidden_act")) json.unsupported("activation_function", "\"swiglu\"");
    c.activation = c.mlm_activation = swiglu ? Activation::silu : read_activation(json, "hidden_act", "silu");
    c.positions = Positions::rotary;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    read_rope(json, c, 1.0, json.number({"rotary_emb_base"}, 1000.0));
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp, width = c.n_heads * c.d_head;
    const std::string layer = "encoder.layers.#.", head = "cls.predictions.";
    WeightMap map, rows;
    map.prefixes = {"nomic_bert.", "bert.", ""};
    map.qkv = QkvLayout::thirds;
    map.head_name = "MLM head";
    map.ignored = {"*embeddings.position_ids", "*pooler.dense.*", "*inv_freq"};
    map.rows = {{Slot::embed, {"embeddings.word_embeddings.weight"}, {c.vocab_size, d}},
                {Slot::token_type_embed, {"embeddings.token_type_embeddings.weight"}, {c.type_vocab_size, d}}};
    add_norm(map, Slot::embed_norm_gain, Slot::embed_norm_bias, "emb_ln", d);
    add_linear(map, Slot::qkv_weight, Slot::qkv_bias, layer + "attn.Wqkv", 3 * width, d, false);
    add_linear(map, Slot::o_weight, Slot::o_bias, layer + "attn.out_proj", d, width, false);
    add_norm(map, Slot::ln1_gain, Slot::ln1_bias, layer + "norm1", d);
    add_linear(map, Slot::mlp_up_weight, Slot::mlp_up_bias, layer + "mlp.fc11", m, d, false);
    add_linear(map, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "mlp.fc12", m, d, false);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "mlp.fc2", d, m, false);
    add_norm(map, Slot::ln2_gain, Slot::ln2_bias, layer + "norm2", d);
    add_linear(rows, Slot::mlm_weight, Slot::mlm_bias, head + "transform.dense", d, d, true);
    add_norm(rows, Slot::mlm_norm_gain, Slot::mlm_norm_bias, head + "transform.layer_norm", d);
    rows.rows.push_back({Slot::unembed_bias, {head + "bias", head + "decoder.bias"}, {c.vocab_size}});
    if (!c.tied_unembedding) rows.rows.push_back({Slot::unembed, {head + "decoder.weight"}, {c.vocab_size, d}, Layout::out_in});
    map.ignored.push_back("*" + head + "decoder.*");
    for (WeightRow& row : rows.rows) {
        row.head = c.architecture != "NomicBertForMaskedLM";
        map.rows.push_back(std::move(row));
    }
    return map;
}

Spec spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding, Block::token_type_embedding, Block::embedding_norm},
           .layer = {Block::attention, Block::mlp},
           .after = {}};
    if (c.mlm_head) s.after = {Block::mlm_head, Block::unembedding};
    return s;
}

constexpr std::string_view kArchitectures[] = {"NomicBertModel", "NomicBertForMaskedLM"};

}  // namespace nomic_bert

const Family kNomicBert = {
    "nomic-bert", nomic_bert::kArchitectures, "nomic_bert", nomic_bert::parse_config, nomic_bert::weight_map, nomic_bert::spec};

}  // namespace headlight::model
