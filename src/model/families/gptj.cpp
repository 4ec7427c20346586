// SPDX-License-Identifier: GPL-3.0-or-later
// GPT-J: neighbouring numbers rotate as pairs, attention and MLP in parallel behind one norm.
#include "model/config_reader.h"
#include "model/families/registry.h"
#include "model/families/rows.h"

#include <cmath>

namespace headlight::model {
namespace {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    c.n_layers = json.size({"n_layer", "num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"n_embd", "hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"n_head", "num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = c.n_heads;
    c.d_head = head_width(json, "n_head", c.d_model, c.n_heads);
    c.d_mlp = json.size({"n_inner"}, kMaxWidth, 4 * c.d_model);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"n_positions", "max_position_embeddings"}, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    c.parallel = c.shared_norm = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", false);
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
    c.activation = read_activation(json, "activation_function", "gelu_new");
    c.positions = Positions::rotary;
    c.rope_dims = json.size({"rotary_dim"}, kMaxWidth, json.mentions("rotary_dim") ? c.d_head : 64);
    if (c.rope_dims % 2 != 0 || c.rope_dims > c.d_head)
        json.wrong("rotary_dim", "an even number up to " + std::to_string(c.d_head), std::to_string(c.rope_dims));
    c.rope_interleaved = true;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    const std::string layer = "h.#.";
    WeightMap map;
    map.prefixes = {"transformer.", ""};
    map.head_name = "language model head";
    map.ignored = {"*attn.bias", "*attn.masked_bias", "*attn.embed_positions"};
    map.rows = {{Slot::embed, {"wte.weight"}, {c.vocab_size, d}}};
    add_norm(map, Slot::ln1_gain, Slot::ln1_bias, layer + "ln_1", d);
    add_linear(map, Slot::q_weight, Slot::q_bias, layer + "attn.q_proj", d, d, false);
    add_linear(map, Slot::k_weight, Slot::k_bias, layer + "attn.k_proj", d, d, false);
    add_linear(map, Slot::v_weight, Slot::v_bias, layer + "attn.v_proj", d, d, false);
    add_linear(map, Slot::o_weight, Slot::o_bias, layer + "attn.out_proj", d, d, false);
    add_linear(map, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "mlp.fc_in", m, d, true);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "mlp.fc_out", d, m, true);
    add_norm(map, Slot::final_norm_gain, Slot::final_norm_bias, "ln_f", d);
    add_language_head(map, c, "lm_head.weight");
    map.rows.push_back({.slot = Slot::unembed_bias, .names = {"lm_head.bias"}, .shape = {c.vocab_size}, .head = !c.architecture.ends_with("ForCausalLM")});
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::token_embedding},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm, Block::unembedding}};
}

constexpr std::string_view kArchitectures[] = {"GPTJForCausalLM", "GPTJModel"};

}  // namespace

const Family kGptj = {"gptj", kArchitectures, "gptj", parse_config, weight_map, spec};

}  // namespace headlight::model
