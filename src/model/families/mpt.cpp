// SPDX-License-Identifier: GPL-3.0-or-later
// MPT: ALiBi, no biases anywhere.
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

#include <cmath>

namespace headlight::model {
namespace mpt {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("no_bias", true, true);
    if (json.has("logit_scale")) json.unsupported("logit_scale", "null");
    ModelConfig c;
    c.n_layers = json.size({"n_layers"}, kMaxLayers);
    c.d_model = json.size({"d_model"}, kMaxWidth);
    c.n_heads = json.size({"n_heads"}, kMaxHeads);
    c.n_kv_heads = c.n_heads;
    c.d_head = head_width(json, "n_heads", c.d_model, c.n_heads);
    c.d_mlp = 4 * c.d_model;
    if (json.size({"expansion_ratio"}, kMaxWidth, 4) != 4) json.unsupported("expansion_ratio", "4");
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_seq_len"}, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    c.mlp_bias = false;
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
    c.activation = Activation::gelu;
    c.positions = Positions::alibi;
    c.alibi_order = AlibiOrder::mpt;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    if (const auto attention = json.object("attn_config")) {
        attention->require_flag("alibi", true, true);
        attention->require_flag("qk_ln", false, false);
        attention->require_flag("prefix_lm", false, false);
        if (attention->text({"attn_type"}, "multihead_attention") != "multihead_attention")
            attention->unsupported("attn_type", "\"multihead_attention\"");
        // transformers computes with 8 whatever the field says.
        if (attention->number({"alibi_bias_max"}, 8.0) != 8.0) attention->unsupported("alibi_bias_max", "8");
        c.score_scale = attention->number({"softmax_scale"}, c.score_scale);
        if (attention->has("clip_qkv")) c.qkv_clip = attention->number({"clip_qkv"});
    }
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    const std::string layer = "blocks.#.";
    WeightMap map;
    map.prefixes = {"transformer.", ""};
    map.qkv = QkvLayout::thirds;
    map.head_name = "language model head";
    map.rows = {{Slot::embed, {"wte.weight"}, {c.vocab_size, d}}};
    add_norm(map, Slot::ln1_gain, Slot::ln1_bias, layer + "norm_1", d, false);
    add_linear(map, Slot::qkv_weight, Slot::qkv_bias, layer + "attn.Wqkv", 3 * d, d, false);
    add_linear(map, Slot::o_weight, Slot::o_bias, layer + "attn.out_proj", d, d, false);
    add_norm(map, Slot::ln2_gain, Slot::ln2_bias, layer + "norm_2", d, false);
    add_linear(map, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "ffn.up_proj", m, d, false);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "ffn.down_proj", d, m, false);
    add_norm(map, Slot::final_norm_gain, Slot::final_norm_bias, "norm_f", d, false);
    add_language_head(map, c, "lm_head.weight");
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::token_embedding},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm, Block::unembedding}};
}

constexpr std::string_view kArchitectures[] = {"MptForCausalLM", "MptModel", "MPTForCausalLM"};

}  // namespace mpt

const Family kMpt = {"mpt", mpt::kArchitectures, "mpt", mpt::parse_config, mpt::weight_map, mpt::spec};

}  // namespace headlight::model
