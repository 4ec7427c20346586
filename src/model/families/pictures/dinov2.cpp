// SPDX-License-Identifier: GPL-3.0-or-later
// DINOv2 (Oquab et al. 2023), also with registers (Darcet et al. 2024): a ViT whose sublayers' outputs are scaled, whose learned
// positions are interpolated to the picture's patches, and which has no classifier of its own.
#include "model/families/pictures/picture_fields.h"
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

#include <cmath>

namespace headlight::model {
namespace dinov2 {

ModelConfig parse_plain(const ConfigReader& json) {
    ModelConfig c = picture_stack(json, 768, 12, 1, 1e-6, "gelu");
    c.query_bias = json.flag("qkv_bias", true);
    c.has_unembedding = false;
    c.layer_scale = true;
    const double hidden = std::floor(static_cast<double>(c.d_model) * json.number({"mlp_ratio"}, 4));
    if (hidden < 1 || hidden > static_cast<double>(kMaxWidth))
        json.wrong("mlp_ratio", "so many that there are 1 to " + std::to_string(kMaxWidth) + " hidden units",
                   json.raw("mlp_ratio").dump());
    c.d_mlp = static_cast<std::int64_t>(hidden);
    c.gated_mlp = json.flag("use_swiglu_ffn", false);
    if (c.gated_mlp) {  // two thirds, in eights
        c.d_mlp = (c.d_mlp * 2 / 3 + 7) / 8 * 8;
        c.activation = Activation::silu;
    }
    return c;
}

/// The positions of the file are of image_size.
void read_table_and_size(const ConfigReader& json, ModelConfig& c) {
    read_picture_size(json, c, 14);
    if (patch_rows(c) != patch_columns(c)) json.unsupported("image_size", "one number: a square table of positions");
    const std::int64_t side = patch_rows(c);
    read_input_size(json, c, "dinov2");
    if (patch_rows(c) != side || patch_columns(c) != side) c.table_side = side;
}

ModelConfig parse(const ConfigReader& json) {
    ModelConfig c = parse_plain(json);
    c.class_tokens = 1;
    read_table_and_size(json, c);
    return c;
}

ModelConfig parse_with_registers(const ConfigReader& json) {
    ModelConfig c = parse_plain(json);
    read_registers(json, c, 4);
    c.smooth_table = true;
    read_table_and_size(json, c);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, p = c.patch_size, m = c.d_mlp;
    const std::string e = "embeddings.", mlp = "encoder.layer.#.mlp.";
    WeightMap map{.prefixes = {"dinov2.", "dinov2_with_registers.", ""},
                  .rows = {{Slot::class_embed, {e + "cls_token"}, {1, 1, d}},
                           {Slot::patch_weight, {e + "patch_embeddings.projection.weight"}, {d, kColours, p, p}},
                           {Slot::patch_bias, {e + "patch_embeddings.projection.bias"}, {d}},
                           {Slot::pos_embed, {e + "position_embeddings"}, {1, table_patches(c) + 1, d}}},
                  .ignored = {"*embeddings.mask_token", "classifier.*"}};
    add_registers(map, c);
    add_layer_scale(map, c, "encoder.layer.#.");
    LayerNames names{.at = "encoder.layer.#.",
                     .ln1 = "norm1",
                     .ln2 = "norm2",
                     .qkv = {"attention.attention.query", "attention.attention.key", "attention.attention.value"},
                     .o = "attention.output.dense",
                     .mlp_in = "mlp.fc1",
                     .mlp_out = "mlp.fc2"};
    if (c.gated_mlp) {
        names.mlp_in = {};
        names.mlp_out = "mlp.weights_out";
        map.rows.push_back({Slot::mlp_gate_up_weight, {mlp + "weights_in.weight"}, {2 * m, d}, Layout::out_in});
        map.rows.push_back({Slot::mlp_gate_up_bias, {mlp + "weights_in.bias"}, {2 * m}});
    }
    add_layers(map, c, names);
    add_norm(map, Slot::final_norm_gain, "layernorm", d);
    return map;
}

constexpr std::string_view kNames[] = {"Dinov2Model"}, kRegisterNames[] = {"Dinov2WithRegistersModel"};

}  // namespace dinov2

const Family kDinov2 = {"dinov2", dinov2::kNames, "dinov2", dinov2::parse, dinov2::weight_map, picture_spec};
const Family kDinov2Registers = {"dinov2_with_registers",      dinov2::kRegisterNames, "dinov2_with_registers",
                                 dinov2::parse_with_registers, dinov2::weight_map,     picture_spec};

}  // namespace headlight::model
