// SPDX-License-Identifier: GPL-3.0-or-later
// ViT and DeiT: patches of a picture as tokens, a class token in front of them (DeiT: and one for distillation), encoder
// blocks that normalise before their sublayers, a classifier that reads the class token.
#include "model/families/class_heads.h"
#include "model/families/pictures/picture_fields.h"
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace vit {

ModelConfig parse(const ConfigReader& json, std::int64_t class_tokens) {
    ModelConfig c = picture_stack(json, 768, 12, 3072, 1e-12, "gelu");
    c.query_bias = json.flag("qkv_bias", true);
    c.class_tokens = class_tokens;
    read_picture_size(json, c, 16);
    c.labels = read_labels(json);
    c.vocab_size = static_cast<std::int64_t>(c.labels.size());
    return c;
}

ModelConfig parse_vit(const ConfigReader& json) { return parse(json, 1); }
ModelConfig parse_deit(const ConfigReader& json) { return parse(json, 2); }

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, p = c.patch_size;
    const std::string e = "embeddings.";
    WeightMap map;
    map.prefixes = {"vit.", "deit.", ""};
    map.head_name = "classifier";
    // A distilled DeiT has a head for each of its two tokens and averages their logits. Only the class token's head is
    // read: a lens or an attribution needs one reading of the stream.
    map.ignored = {"*pooler.dense.*", "*embeddings.mask_token", "*distillation_classifier.*"};
    map.rows.push_back({Slot::class_embed, {e + "cls_token"}, {1, 1, d}});
    if (c.class_tokens > 1) map.rows.push_back({Slot::distill_embed, {e + "distillation_token"}, {1, 1, d}});
    map.rows.push_back({Slot::patch_weight, {e + "patch_embeddings.projection.weight"}, {d, kColours, p, p}});
    map.rows.push_back({Slot::patch_bias, {e + "patch_embeddings.projection.bias"}, {d}});
    map.rows.push_back({Slot::pos_embed, {e + "position_embeddings"}, {1, c.context_length, d}});
    add_layers(map, c,
               {.at = "encoder.layer.#.",
                .ln1 = "layernorm_before",
                .ln2 = "layernorm_after",
                .qkv = {"attention.attention.query", "attention.attention.key", "attention.attention.value"},
                .o = "attention.output.dense",
                .mlp_in = "intermediate.dense",
                .mlp_out = "output.dense"});
    add_norm(map, Slot::final_norm_gain, "layernorm", d);

    const std::string head = c.architecture.ends_with("WithTeacher") ? "cls_classifier" : "classifier";
    const std::size_t first = map.rows.size();
    add_linear(map, Slot::unembed, head, c.vocab_size, d, true);
    const bool optional = c.architecture.find("ForImageClassification") == std::string::npos;
    for (std::size_t i = first; i < map.rows.size(); ++i) map.rows[i].head = optional;
    return map;
}

constexpr std::string_view kVitNames[] = {"ViTForImageClassification", "ViTModel"};
constexpr std::string_view kDeitNames[] = {"DeiTForImageClassification", "DeiTForImageClassificationWithTeacher", "DeiTModel"};

}  // namespace vit

const Family kVit = {"vit", vit::kVitNames, "vit", vit::parse_vit, vit::weight_map, picture_spec};
const Family kDeit = {"deit", vit::kDeitNames, "deit", vit::parse_deit, vit::weight_map, picture_spec};

}  // namespace headlight::model
