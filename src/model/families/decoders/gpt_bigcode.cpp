// SPDX-License-Identifier: GPL-3.0-or-later
// GPTBigCode (StarCoder, SantaCoder): GPT-2 with one key/value head.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace gpt_bigcode {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("add_cross_attention", false, false);
    ModelConfig c;
    read_gpt2_sizes(json, c, kMaxWidth, 1024);
    if (json.flag("multi_query", true)) c.n_kv_heads = 1;
    c.query_bias = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.activation = read_activation(json, "activation_function", "gelu_pytorch_tanh");
    c.positions = Positions::learned;
    if (!json.flag("scale_attn_weights", true)) c.score_scale = 1.0;
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"transformer.", ""},
                  .qkv = c.n_kv_heads == c.n_heads ? QkvLayout::per_head : QkvLayout::blocks,
                  .ignored = {"*attn.bias", "*attn.masked_bias"}};
    add_decoder(map, c,
                {.embed = "wte",
                 .pos_embed = "wpe",
                 .layer = {.at = "h.#.",
                           .ln1 = "ln_1",
                           .ln2 = "ln_2",
                           .qkv = {"attn.c_attn"},
                           .o = "attn.c_proj",
                           .mlp_in = "mlp.c_fc",
                           .mlp_out = "mlp.c_proj"},
                 .final_norm = "ln_f",
                 .head = "lm_head"});
    return map;
}

constexpr std::string_view kArchitectures[] = {"GPTBigCodeForCausalLM", "GPTBigCodeModel"};

}  // namespace gpt_bigcode

const Family kGptBigcode = {
    "gpt_bigcode", gpt_bigcode::kArchitectures, "gpt_bigcode", gpt_bigcode::parse_config, gpt_bigcode::weight_map, decoder_spec};

}  // namespace headlight::model
