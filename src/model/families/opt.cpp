// SPDX-License-Identifier: GPL-3.0-or-later
// OPT: learned positions from row 2 on, ReLU. The sizes that normalise behind the sub-layer are refused.
#include "model/config_reader.h"
#include "model/families/registry.h"
#include "model/families/rows.h"

#include <cmath>

namespace headlight::model {
namespace {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("do_layer_norm_before", true, true);
    json.require_flag("enable_bias", true, true);
    json.require_flag("layer_norm_elementwise_affine", true, true);
    json.require_flag("_remove_final_layer_norm", false, false);
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    if (json.size({"word_embed_proj_dim"}, kMaxWidth, c.d_model) != c.d_model)
        json.unsupported("word_embed_proj_dim", "hidden_size " + std::to_string(c.d_model));
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = c.n_heads;
    c.d_head = head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"ffn_dim"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth, 2048);
    c.query_bias = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = 1e-5;
    c.activation = read_activation(json, "activation_function", "relu");
    c.positions = Positions::learned;
    c.position_offset = 2;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    const std::string layer = "layers.#.", attention = layer + "self_attn.";
    WeightMap map;
    map.prefixes = {"model.decoder.", "decoder.", ""};
    map.head_name = "language model head";
    map.rows = {{Slot::embed, {"embed_tokens.weight"}, {c.vocab_size, d}},
                {Slot::pos_embed, {"embed_positions.weight"}, {c.context_length + c.position_offset, d}}};
    add_norm(map, Slot::ln1_gain, Slot::ln1_bias, layer + "self_attn_layer_norm", d);
    add_linear(map, Slot::q_weight, Slot::q_bias, attention + "q_proj", d, d, true);
    add_linear(map, Slot::k_weight, Slot::k_bias, attention + "k_proj", d, d, true);
    add_linear(map, Slot::v_weight, Slot::v_bias, attention + "v_proj", d, d, true);
    add_linear(map, Slot::o_weight, Slot::o_bias, attention + "out_proj", d, d, true);
    add_norm(map, Slot::ln2_gain, Slot::ln2_bias, layer + "final_layer_norm", d);
    add_linear(map, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "fc1", m, d, true);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "fc2", d, m, true);
    add_norm(map, Slot::final_norm_gain, Slot::final_norm_bias, "final_layer_norm", d);
    add_language_head(map, c, "lm_head.weight");
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::token_embedding, Block::position_embedding},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm, Block::unembedding}};
}

constexpr std::string_view kArchitectures[] = {"OPTForCausalLM", "OPTModel"};

}  // namespace

const Family kOpt = {"opt", kArchitectures, "opt", parse_config, weight_map, spec};

}  // namespace headlight::model
