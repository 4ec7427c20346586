// SPDX-License-Identifier: GPL-3.0-or-later
// ModernBERT: looks both ways, norms in front, rotary positions, gated MLP; two of three layers see only near tokens.
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"
#include "model/load/rope_config.h"

#include <cmath>

namespace headlight::model {
namespace modernbert {

ModelConfig parse_config(const ConfigReader& json) {
    // Fields that only add biases to products that have none in the released models.
    for (const char* field : {"attention_bias", "mlp_bias", "norm_bias", "classifier_bias"})
        json.require_flag(field, false, false);
    json.require_flag("decoder_bias", true, true);
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = c.n_heads;
    c.d_head = head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, 8192);
    c.context_is_hard_limit = false;
    c.causal = false;
    c.embed_norm = true;
    c.gated_mlp = true;
    c.mlp_bias = false;
    c.first_layer_unnormed = true;
    c.mlm_head = true;  // until the weights turn out to have none
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"norm_eps"}, 1e-5);
    c.activation = read_activation(json, "hidden_activation", "gelu");
    c.mlm_activation = read_activation(json, "classifier_activation", "gelu");
    c.positions = Positions::rotary;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    read_rope(json, c, 1.0, json.number({"global_rope_theta"}, 160000.0));
    const auto rope = json.object("rope_parameters");
    if (!rope || !rope->object_of_kind("sliding_attention")) c.local_rope.theta = json.number({"local_rope_theta"}, 10000.0);
    // Half the field's number to either side, itself included: nearer than half + 1.
    const std::int64_t window = json.size({"local_attention"}, kMaxContext, 128) / 2 + 1;
    const std::int64_t every = json.size({"global_attn_every_n_layers"}, kMaxLayers, 3);
    if (json.has("layer_types")) {
        read_layer_types(json, c, window, [](std::int64_t) { return false; });
    } else {
        for (std::int64_t l = 0; l < c.n_layers; ++l) c.windows.push_back(l % every != 0 ? window : 0);
    }
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        c.layer_rope.push_back(window_of(c, l) > 0 ? LayerRope::local : LayerRope::global);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    const std::string layer = "layers.#.";
    WeightMap map, head;
    map.prefixes = {"model.", ""};
    map.qkv = QkvLayout::thirds;
    map.head_name = "MLM head";
    map.ignored = {"*decoder.weight", "*inv_freq"};
    map.rows = {{Slot::embed, {"embeddings.tok_embeddings.weight"}, {c.vocab_size, d}},
                {Slot::embed_norm_gain, {"embeddings.norm.weight"}, {d}},
                {.slot = Slot::ln1_gain, .names = {layer + "attn_norm.weight"}, .shape = {d}, .first_layer = 1}};
    add_linear(map, Slot::qkv_weight, Slot::qkv_bias, layer + "attn.Wqkv", 3 * d, d, false);
    add_linear(map, Slot::o_weight, Slot::o_bias, layer + "attn.Wo", d, d, false);
    add_norm(map, Slot::ln2_gain, Slot::ln2_bias, layer + "mlp_norm", d, false);
    add_linear(map, Slot::mlp_gate_up_weight, Slot::mlp_gate_up_bias, layer + "mlp.Wi", 2 * m, d, false);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "mlp.Wo", d, m, false);
    add_norm(map, Slot::final_norm_gain, Slot::final_norm_bias, "final_norm", d, false);
    add_linear(head, Slot::mlm_weight, Slot::mlm_bias, "head.dense", d, d, false);
    add_norm(head, Slot::mlm_norm_gain, Slot::mlm_norm_bias, "head.norm", d, false);
    head.rows.push_back({Slot::unembed_bias, {"decoder.bias"}, {c.vocab_size}});
    if (!c.tied_unembedding) head.rows.push_back({Slot::unembed, {"decoder.weight"}, {c.vocab_size, d}, Layout::out_in});
    for (WeightRow& row : head.rows) {
        row.head = !c.architecture.ends_with("ForMaskedLM");
        map.rows.push_back(std::move(row));
    }
    return map;
}

Spec spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding, Block::embedding_norm},
           .layer = {Block::attention, Block::mlp},
           .after = {Block::final_norm}};
    if (c.mlm_head) s.after = {Block::final_norm, Block::mlm_head, Block::unembedding};
    return s;
}

constexpr std::string_view kArchitectures[] = {"ModernBertModel", "ModernBertForMaskedLM"};

}  // namespace modernbert

const Family kModernbert = {
    "modernbert", modernbert::kArchitectures, "modernbert", modernbert::parse_config, modernbert::weight_map, modernbert::spec};

}  // namespace headlight::model
