// SPDX-License-Identifier: GPL-3.0-or-later
// OPT: learned positions from row 2 on, ReLU. The post-norm sizes are refused.
#include "model/families/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

#include <cmath>

namespace headlight::model {
namespace opt {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("do_layer_norm_before", true, true);
    json.require_flag("enable_bias", true, true);
    json.require_flag("layer_norm_elementwise_affine", true, true);
    json.require_flag("_remove_final_layer_norm", false, false);
    ModelConfig c;
    read_decoder_sizes(json, c, kMaxWidth);
    if (json.size({"word_embed_proj_dim"}, kMaxWidth, c.d_model) != c.d_model)
        json.unsupported("word_embed_proj_dim", "hidden_size " + std::to_string(c.d_model));
    c.d_mlp = json.size({"ffn_dim"}, kMaxWidth);
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
    WeightMap map;
    map.prefixes = {"model.decoder.", "decoder.", ""};
    add_decoder(map, c,
                {.embed = "embed_tokens",
                 .pos_embed = "embed_positions",
                 .layer = {.at = "layers.#.",
                           .ln1 = "self_attn_layer_norm",
                           .ln2 = "final_layer_norm",
                           .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                           .o = "self_attn.out_proj",
                           .mlp_in = "fc1",
                           .mlp_out = "fc2"},
                 .final_norm = "final_layer_norm",
                 .head = "lm_head"});
    return map;
}

constexpr std::string_view kArchitectures[] = {"OPTForCausalLM", "OPTModel"};

}  // namespace opt

const Family kOpt = {"opt", opt::kArchitectures, "opt", opt::parse_config, opt::weight_map, decoder_spec};

}  // namespace headlight::model
