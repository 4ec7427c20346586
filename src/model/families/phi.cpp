// SPDX-License-Identifier: GPL-3.0-or-later
// Phi-1, 1.5 and 2: half of each head rotates, attention and MLP in parallel behind one norm, biases everywhere.
#include "model/config_reader.h"
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/rope_config.h"

#include <cmath>

namespace headlight::model {
namespace {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("qk_layernorm", false, false);
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = read_kv_heads(json, c);
    c.d_head = head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    c.parallel = c.shared_norm = true;
    c.query_bias = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", false);
    c.norm_epsilon = json.number({"layer_norm_eps"}, 1e-5);
    c.activation = read_activation(json, "hidden_act", "gelu_new");
    c.positions = Positions::rotary;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    read_rope(json, c, 0.5);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp, kv = c.n_kv_heads * c.d_head;
    const std::string layer = "layers.#.", attention = layer + "self_attn.";
    WeightMap map;
    map.prefixes = {"model.", ""};
    map.head_name = "language model head";
    map.ignored = {"*rotary_emb.inv_freq"};
    map.rows = {{Slot::embed, {"embed_tokens.weight"}, {c.vocab_size, d}}};
    add_norm(map, Slot::ln1_gain, Slot::ln1_bias, layer + "input_layernorm", d);
    add_linear(map, Slot::q_weight, Slot::q_bias, attention + "q_proj", d, d, true);
    add_linear(map, Slot::k_weight, Slot::k_bias, attention + "k_proj", kv, d, true);
    add_linear(map, Slot::v_weight, Slot::v_bias, attention + "v_proj", kv, d, true);
    add_linear(map, Slot::o_weight, Slot::o_bias, attention + "dense", d, d, true);
    add_linear(map, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "mlp.fc1", m, d, true);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "mlp.fc2", d, m, true);
    add_norm(map, Slot::final_norm_gain, Slot::final_norm_bias, "final_layernorm", d);
    add_language_head(map, c, "lm_head.weight");
    map.rows.push_back({.slot = Slot::unembed_bias, .names = {"lm_head.bias"}, .shape = {c.vocab_size}, .head = !c.architecture.ends_with("ForCausalLM")});
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::token_embedding},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm, Block::unembedding}};
}

constexpr std::string_view kArchitectures[] = {"PhiForCausalLM", "PhiModel"};

}  // namespace

const Family kPhi = {"phi", kArchitectures, "phi", parse_config, weight_map, spec};

}  // namespace headlight::model
