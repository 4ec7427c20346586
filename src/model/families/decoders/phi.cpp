// SPDX-License-Identifier: GPL-3.0-or-later
// Phi-1, 1.5 and 2: half of each head rotates, attention and MLP in parallel after one norm, biases everywhere.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"
#include "model/load/rope_config.h"

namespace headlight::model {
namespace phi {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("qk_layernorm", false, false);
    ModelConfig c;
    read_decoder_sizes(json, c, kMaxContext);
    c.n_kv_heads = read_kv_heads(json, c);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.context_is_hard_limit = false;
    c.parallel = c.shared_norm = true;
    c.query_bias = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", false);
    c.norm_epsilon = json.number({"layer_norm_eps"}, 1e-5);
    c.activation = read_activation(json, "hidden_act", "gelu_new");
    c.positions = Positions::rotary;
    read_rope(json, c, 0.5);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"model.", ""}, .ignored = {"*rotary_emb.inv_freq"}};
    add_decoder(map, c,
                {.embed = "embed_tokens",
                 .layer = {.at = "layers.#.",
                           .ln1 = "input_layernorm",
                           .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                           .o = "self_attn.dense",
                           .mlp_in = "mlp.fc1",
                           .mlp_out = "mlp.fc2"},
                 .final_norm = "final_layernorm",
                 .head = "lm_head",
                 .head_bias = true});
    return map;
}

constexpr std::string_view kArchitectures[] = {"PhiForCausalLM", "PhiModel"};

}  // namespace phi

const Family kPhi = {"phi", phi::kArchitectures, "phi", phi::parse_config, phi::weight_map, decoder_spec};

}  // namespace headlight::model
