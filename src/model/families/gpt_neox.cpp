// SPDX-License-Identifier: GPL-3.0-or-later
// GPT-NeoX and Pythia: a quarter of each head rotates, attention and MLP in parallel behind a norm each.
#include "model/config_reader.h"
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/rope_config.h"

#include <cmath>

namespace headlight::model {
namespace {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("attention_bias", true, true);
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = c.n_heads;
    c.d_head = head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    c.parallel = json.flag("use_parallel_residual", true);
    c.query_bias = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", false);
    c.norm_epsilon = json.number({"layer_norm_eps"}, 1e-5);
    c.activation = read_activation(json, "hidden_act", "gelu");
    c.positions = Positions::rotary;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    read_rope(json, c, 0.25);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    const std::string layer = "layers.#.";
    WeightMap map;
    map.prefixes = {"gpt_neox.", ""};
    map.qkv = QkvLayout::per_head;
    map.head_name = "language model head";
    map.ignored = {"*attention.bias", "*attention.masked_bias", "*rotary_emb.inv_freq"};
    map.rows = {{Slot::embed, {"embed_in.weight"}, {c.vocab_size, d}}};
    add_norm(map, Slot::ln1_gain, Slot::ln1_bias, layer + "input_layernorm", d);
    add_norm(map, Slot::ln2_gain, Slot::ln2_bias, layer + "post_attention_layernorm", d);
    add_linear(map, Slot::qkv_weight, Slot::qkv_bias, layer + "attention.query_key_value", 3 * d, d, true);
    add_linear(map, Slot::o_weight, Slot::o_bias, layer + "attention.dense", d, d, true);
    add_linear(map, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "mlp.dense_h_to_4h", m, d, true);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "mlp.dense_4h_to_h", d, m, true);
    add_norm(map, Slot::final_norm_gain, Slot::final_norm_bias, "final_layer_norm", d);
    add_language_head(map, c, "embed_out.weight");
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::token_embedding},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm, Block::unembedding}};
}

constexpr std::string_view kArchitectures[] = {"GPTNeoXForCausalLM", "GPTNeoXModel"};

}  // namespace

const Family kGptNeox = {"gpt_neox", kArchitectures, "gpt_neox", parse_config, weight_map, spec};

}  // namespace headlight::model
