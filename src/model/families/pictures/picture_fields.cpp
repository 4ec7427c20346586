// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/pictures/picture_fields.h"

#include "headlight/model/picture.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headlight::model {
namespace {

constexpr std::int64_t kMaxSide = 1 << 14, kMaxRegisters = 1024;

void set_picture_size(const ConfigReader& json, ModelConfig& c, std::int64_t height, std::int64_t width) {
    if (c.patch_size > std::min(height, width))
        json.wrong("patch_size", "at most the picture's sides " + std::to_string(height) + " and " + std::to_string(width),
                   std::to_string(c.patch_size));
    c.image_height = height, c.image_width = width;
    c.context_length = c.class_tokens + patch_rows(c) * patch_columns(c);
}

}  // namespace

ModelConfig picture_stack(const ConfigReader& json, std::int64_t width, std::int64_t heads, std::int64_t hidden, double epsilon,
                          const std::string& activation) {
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers, 12);
    c.d_model = json.size({"hidden_size"}, kMaxWidth, width);
    c.n_heads = c.n_kv_heads = json.size({"num_attention_heads"}, kMaxHeads, heads);
    c.d_head = head_width(json, "num_attention_heads", c.d_model, c.n_heads);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth, hidden);
    c.norm_epsilon = json.number({"layer_norm_eps"}, epsilon);
    c.activation = read_activation(json, "hidden_act", activation);
    c.causal = false;
    c.positions = Positions::learned;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    return c;
}

Spec picture_spec(const ModelConfig& c) {
    Spec s{.before = {Block::patch_embedding}, .layer = {Block::attention, Block::mlp}, .after = {}};
    if (c.final_norm) s.after.push_back(Block::final_norm);
    if (c.positions == Positions::learned) s.before.push_back(Block::position_embedding);
    if (c.embed_norm) s.before.push_back(Block::embedding_norm);
    if (c.d_projection > 0) s.after.push_back(Block::projection);
    if (c.has_unembedding) s.after.push_back(Block::unembedding);
    return s;
}

void read_picture_size(const ConfigReader& json, ModelConfig& c, std::int64_t default_patch) {
    if (json.size({"num_channels"}, kMaxWidth, kColours) != kColours) json.unsupported("num_channels", "3: red, green, blue");
    std::vector<std::int64_t> sides;
    if (json.has("image_size") && json.raw("image_size").is_array()) {
        sides = json.integers("image_size", 2);
        for (const std::int64_t side : sides)
            if (side < 1 || side > kMaxSide) json.wrong("image_size", "1 to " + std::to_string(kMaxSide), std::to_string(side));
    } else {
        sides.assign(2, json.size({"image_size"}, kMaxSide, 224));
    }
    if (json.has("patch_size") && json.raw("patch_size").is_array()) json.unsupported("patch_size", "one number: square patches");
    c.patch_size = json.size({"patch_size"}, kMaxSide, default_patch);
    set_picture_size(json, c, sides[0], sides[1]);
}

void read_input_size(const ConfigReader& json, ModelConfig& c, std::string_view family) {
    const PicturePlan plan = picture_plan(json.file().parent_path(), c, family);
    const bool crops = plan.crop_height > 0;
    if (!crops && (!plan.resize || plan.shortest_edge > 0)) return;  // any size: that of the configuration is taken
    set_picture_size(json, c, crops ? plan.crop_height : plan.height, crops ? plan.crop_width : plan.width);
}

void read_registers(const ConfigReader& json, ModelConfig& c, std::int64_t fallback) {
    const bool none = json.has("num_register_tokens") ? json.raw("num_register_tokens") == 0 : fallback == 0;
    c.registers = none ? 0 : json.size({"num_register_tokens"}, kMaxRegisters, fallback);
    c.class_tokens = 1 + c.registers;
}

void add_registers(WeightMap& map, const ModelConfig& c) {
    if (c.registers > 0)
        map.rows.push_back({Slot::register_embed, {"embeddings.register_tokens"}, {1, c.registers, c.d_model}});
    else
        map.ignored.push_back("*embeddings.register_tokens");
}

void add_layer_scale(WeightMap& map, const ModelConfig& c, const std::string& at) {
    map.rows.push_back({Slot::attn_scale, {at + "layer_scale1.lambda1"}, {c.d_model}});
    map.rows.push_back({Slot::mlp_scale, {at + "layer_scale2.lambda1"}, {c.d_model}});
}

}  // namespace headlight::model
