// SPDX-License-Identifier: GPL-3.0-or-later
// GPTBigCode (StarCoder, SantaCoder): GPT-2 with one key/value head.
#include "model/config_reader.h"
#include "model/families/registry.h"
#include "model/families/rows.h"

#include <cmath>

namespace headlight::model {
namespace {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("add_cross_attention", false, false);
    ModelConfig c;
    c.n_layers = json.size({"n_layer", "num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"n_embd", "hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"n_head", "num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = json.flag("multi_query", true) ? 1 : c.n_heads;
    c.d_head = head_width(json, "n_head", c.d_model, c.n_heads);
    c.d_mlp = json.size({"n_inner"}, kMaxWidth, 4 * c.d_model);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"n_positions", "max_position_embeddings"}, kMaxWidth, 1024);
    c.query_bias = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
    c.activation = read_activation(json, "activation_function", "gelu_pytorch_tanh");
    c.positions = Positions::learned;
    c.score_scale = json.flag("scale_attn_weights", true) ? 1.0 / std::sqrt(static_cast<double>(c.d_head)) : 1.0;
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    const std::string layer = "h.#.";
    WeightMap map;
    map.prefixes = {"transformer.", ""};
    map.qkv = c.n_kv_heads == c.n_heads ? QkvLayout::per_head : QkvLayout::blocks;
    map.head_name = "language model head";
    map.ignored = {"*attn.bias", "*attn.masked_bias"};
    map.rows = {{Slot::embed, {"wte.weight"}, {c.vocab_size, d}}, {Slot::pos_embed, {"wpe.weight"}, {c.context_length, d}}};
    add_norm(map, Slot::ln1_gain, Slot::ln1_bias, layer + "ln_1", d);
    add_linear(map, Slot::qkv_weight, Slot::qkv_bias, layer + "attn.c_attn", (c.n_heads + 2 * c.n_kv_heads) * c.d_head, d, true);
    add_linear(map, Slot::o_weight, Slot::o_bias, layer + "attn.c_proj", d, d, true);
    add_norm(map, Slot::ln2_gain, Slot::ln2_bias, layer + "ln_2", d);
    add_linear(map, Slot::mlp_in_weight, Slot::mlp_in_bias, layer + "mlp.c_fc", m, d, true);
    add_linear(map, Slot::mlp_out_weight, Slot::mlp_out_bias, layer + "mlp.c_proj", d, m, true);
    add_norm(map, Slot::final_norm_gain, Slot::final_norm_bias, "ln_f", d);
    add_language_head(map, c, "lm_head.weight");
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::token_embedding, Block::position_embedding},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm, Block::unembedding}};
}

constexpr std::string_view kArchitectures[] = {"GPTBigCodeForCausalLM", "GPTBigCodeModel"};

}  // namespace

const Family kGptBigcode = {"gpt_bigcode", kArchitectures, "gpt_bigcode", parse_config, weight_map, spec};

}  // namespace headlight::model
