// SPDX-License-Identifier: GPL-3.0-or-later
// OPT: learned positions from row 2 on, ReLU. OPT-350M is post-norm and has narrower embeddings; Galactica has no biases.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace opt {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    read_decoder_sizes(json, c, kMaxWidth);
    const std::int64_t narrow = json.size({"word_embed_proj_dim"}, kMaxWidth, c.d_model);
    if (narrow != c.d_model) c.d_factored = narrow;
    c.post_norm = !json.flag("do_layer_norm_before", true);
    c.final_norm = !c.post_norm && !json.flag("_remove_final_layer_norm", false);
    c.norm_gain = json.flag("layer_norm_elementwise_affine", true);
    c.d_mlp = json.size({"ffn_dim"}, kMaxWidth);
    c.query_bias = c.mlp_bias = json.flag("enable_bias", true);
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = 1e-5;
    c.activation = read_activation(json, "activation_function", "relu");
    c.positions = Positions::learned;
    c.position_offset = 2;
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"model.decoder.", "decoder.", ""}};
    add_decoder(map, c,
                {.embed = "embed_tokens",
                 .pos_embed = "embed_positions",
                 .layer = {.at = "layers.#.",
                           .ln1 = c.norm_gain ? "self_attn_layer_norm" : "",
                           .ln2 = c.norm_gain ? "final_layer_norm" : "",
                           .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                           .o = "self_attn.out_proj",
                           .mlp_in = "fc1",
                           .mlp_out = "fc2",
                           .o_bias = c.query_bias},
                 .final_norm = "final_layer_norm",
                 .head = "lm_head"});
    if (c.d_factored > 0) {
        for (WeightRow& row : map.rows)
            if (row.slot == Slot::embed || row.slot == Slot::unembed) row.shape = {c.vocab_size, c.d_factored};
        add_linear(map, Slot::embed_projection_weight, "project_in", c.d_model, c.d_factored, false);
        map.rows.push_back({Slot::projection, {"project_out.weight"}, {c.d_factored, c.d_model}, Layout::out_in});
    }
    return map;
}

constexpr std::string_view kArchitectures[] = {"OPTForCausalLM", "OPTModel"};

}  // namespace opt

const Family kOpt = {"opt", opt::kArchitectures, "opt", opt::parse_config, opt::weight_map, decoder_spec};

}  // namespace headlight::model
