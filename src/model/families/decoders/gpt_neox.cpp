// SPDX-License-Identifier: GPL-3.0-or-later
// GPT-NeoX and Pythia: a quarter of each head rotates, attention and MLP in parallel, each after its norm.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"
#include "model/load/rope_config.h"

namespace headlight::model {
namespace gpt_neox {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    read_decoder_sizes(json, c, kMaxContext);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.context_is_hard_limit = false;
    c.parallel = json.flag("use_parallel_residual", true);
    c.query_bias = json.flag("attention_bias", true);
    c.tied_unembedding = json.flag("tie_word_embeddings", false);
    c.norm_epsilon = json.number({"layer_norm_eps"}, 1e-5);
    c.activation = read_activation(json, "hidden_act", "gelu");
    c.positions = Positions::rotary;
    read_rope(json, c, 0.25);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"gpt_neox.", ""},
                  .qkv = QkvLayout::per_head,
                  .ignored = {"*attention.bias", "*attention.masked_bias", "*rotary_emb.inv_freq"}};
    add_decoder(map, c,
                {.embed = "embed_in",
                 .layer = {.at = "layers.#.",
                           .ln1 = "input_layernorm",
                           .ln2 = "post_attention_layernorm",
                           .qkv = {"attention.query_key_value"},
                           .o = "attention.dense",
                           .mlp_in = "mlp.dense_h_to_4h",
                           .mlp_out = "mlp.dense_4h_to_h",
                           .o_bias = c.query_bias},
                 .final_norm = "final_layer_norm",
                 .head = "embed_out"});
    return map;
}

constexpr std::string_view kArchitectures[] = {"GPTNeoXForCausalLM", "GPTNeoXModel"};

}  // namespace gpt_neox

const Family kGptNeox = {"gpt_neox",  gpt_neox::kArchitectures, "gpt_neox", gpt_neox::parse_config, gpt_neox::weight_map,
                         decoder_spec};

}  // namespace headlight::model
