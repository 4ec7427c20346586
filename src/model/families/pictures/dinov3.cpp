// SPDX-License-Identifier: GPL-3.0-or-later
// DINOv3's ViT (Siméoni et al. 2025): as DINOv2 with registers, but without learned positions: queries and keys of patches rotate
// by their row and column.
#include "model/families/pictures/picture_fields.h"
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace dinov3 {

ModelConfig parse(const ConfigReader& json) {
    ModelConfig c = picture_stack(json, 384, 6, 1536, 1e-5, "gelu");
    c.positions = Positions::rotary;
    c.rope.theta = json.number({"rope_theta"}, 100);
    c.rope_dims = c.d_head;
    if (c.d_head % 4 != 0)
        json.wrong("num_attention_heads", "heads whose width is a multiple of 4: pairs for rows and for columns",
                   "a width of " + std::to_string(c.d_head));
    c.has_unembedding = false;
    c.layer_scale = true;
    c.query_bias = true;
    for (const std::string_view part : {"query_bias", "value_bias", "proj_bias"}) json.require_flag(part, true, true);
    json.require_flag("key_bias", false, false);
    c.mlp_bias = json.flag("mlp_bias", true);
    c.gated_mlp = json.flag("use_gated_mlp", false);
    read_registers(json, c, 0);
    read_picture_size(json, c, 16);
    read_input_size(json, c, "dinov3_vit");
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, p = c.patch_size;
    const std::string e = "embeddings.", layer = "layer.#.";
    WeightMap map{.prefixes = {""},
                  .rows = {{Slot::class_embed, {e + "cls_token"}, {1, 1, d}},
                           {Slot::patch_weight, {e + "patch_embeddings.weight"}, {d, kColours, p, p}},
                           {Slot::patch_bias, {e + "patch_embeddings.bias"}, {d}}},
                  .ignored = {"*embeddings.mask_token"}};
    add_registers(map, c);
    add_layer_scale(map, c, layer);
    map.rows.push_back({Slot::q_bias, {layer + "attention.q_proj.bias"}, {d}});
    map.rows.push_back({Slot::v_bias, {layer + "attention.v_proj.bias"}, {d}});
    ModelConfig without = c;  // the keys have no bias
    without.query_bias = false;
    add_layers(map, without,
               {.at = layer,
                .ln1 = "norm1",
                .ln2 = "norm2",
                .qkv = {"attention.q_proj", "attention.k_proj", "attention.v_proj"},
                .o = "attention.o_proj",
                .mlp_in = c.gated_mlp ? "mlp.gate_proj" : "mlp.up_proj",
                .mlp_up = c.gated_mlp ? "mlp.up_proj" : "",
                .mlp_out = "mlp.down_proj"});
    add_norm(map, Slot::final_norm_gain, "norm", d);
    return map;
}

constexpr std::string_view kNames[] = {"DINOv3ViTModel"};

}  // namespace dinov3

const Family kDinov3 = {"dinov3_vit", dinov3::kNames, "dinov3_vit", dinov3::parse, dinov3::weight_map, picture_spec};

}  // namespace headlight::model
