// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/pictures/picture_fields.h"

#include "headlight/model/picture.h"

#include <cmath>

namespace headlight::model {
namespace {

constexpr std::int64_t kMaxSide = 1 << 14, kMaxRegisters = 1024;

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
    c.positions = Positions::learned;
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    return c;
}

void read_picture_size(const ConfigReader& json, ModelConfig& c, std::int64_t default_patch, std::int64_t class_tokens) {
    if (json.size({"num_channels"}, kMaxWidth, kColours) != kColours) json.unsupported("num_channels", "3: red, green, blue");
    if (json.has("image_size") && json.raw("image_size").is_array()) {
        const std::vector<std::int64_t> sides = json.integers("image_size", 2);
        for (const std::int64_t side : sides)
            if (side < 1 || side > kMaxSide) json.wrong("image_size", "1 to " + std::to_string(kMaxSide), std::to_string(side));
        c.image_height = sides[0], c.image_width = sides[1];
    } else {
        c.image_height = c.image_width = json.size({"image_size"}, kMaxSide, 224);
    }
    if (json.has("patch_size") && json.raw("patch_size").is_array()) json.unsupported("patch_size", "one number: square patches");
    c.patch_size = json.size({"patch_size"}, kMaxSide, default_patch);
    if (c.image_height % c.patch_size != 0 || c.image_width % c.patch_size != 0)
        json.wrong("patch_size",
                   "a divisor of the picture's sides " + std::to_string(c.image_height) + " and " + std::to_string(c.image_width),
                   std::to_string(c.patch_size));
    c.class_tokens = class_tokens;
    c.context_length = class_tokens + patch_rows(c) * patch_columns(c);
}

void read_registers(const ConfigReader& json, ModelConfig& c, std::int64_t fallback) {
    const bool none = json.has("num_register_tokens") ? json.raw("num_register_tokens") == 0 : fallback == 0;
    c.registers = none ? 0 : json.size({"num_register_tokens"}, kMaxRegisters, fallback);
    c.class_tokens = 1 + c.registers;
}

bool read_input_size(const ConfigReader& json, ModelConfig& c, std::int64_t default_patch) {
    read_picture_size(json, c, default_patch, c.class_tokens);
    const PicturePlan plan = picture_plan(json.file().parent_path(), c);
    const bool crops = plan.crop_height > 0;
    if (!crops && (!plan.resize || plan.shortest_edge > 0)) return false;  // any size: that of the configuration is taken
    const std::int64_t height = crops ? plan.crop_height : plan.height, width = crops ? plan.crop_width : plan.width;
    if (height == c.image_height && width == c.image_width) return false;
    const ConfigReader given(json.file().parent_path() / "preprocessor_config.json",
                             {{"image_size", {height, width}}, {"patch_size", c.patch_size}});
    read_picture_size(given, c, c.patch_size, c.class_tokens);
    return true;
}

}  // namespace headlight::model
