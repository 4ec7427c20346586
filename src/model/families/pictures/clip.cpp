// SPDX-License-Identifier: GPL-3.0-or-later
// CLIP's towers (Radford et al. 2021), each a separate model: a causal decoder without logits whose output is the row of
// the end-of-text token, and a ViT with a norm before its layers whose output is the row of the class token. Both are
// projected to one width. SigLIP's vision tower (Zhai et al. 2023) has neither class token nor first norm. Its end is the last
// norm: the head that pools the patches is an attention of one learned query beyond the stream, and is not computed.
// src/model/load/tower.h chooses the tower of a folder.
#include "model/families/pictures/picture_fields.h"
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace clip {

ModelConfig parse(const ConfigReader& json, std::int64_t width, std::int64_t heads, std::int64_t hidden, double epsilon = 1e-5,
                  const std::string& activation = "quick_gelu") {
    ModelConfig c = picture_stack(json, width, heads, hidden, epsilon, activation);
    c.query_bias = true;
    c.has_unembedding = false;
    if (json.architecture().ends_with("WithProjection")) c.d_projection = json.size({"projection_dim"}, kMaxWidth, 512);
    return c;
}

ModelConfig parse_text(const ConfigReader& json) {
    ModelConfig c = parse(json, 512, 8, 2048);
    c.causal = true;
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab, 49408);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth, 77);
    return c;
}

ModelConfig parse_vision(const ConfigReader& json) {
    ModelConfig c = parse(json, 768, 12, 3072);
    c.embed_norm = true;
    c.patch_bias = false;
    c.class_tokens = 1;
    read_picture_size(json, c, 32);
    return c;
}

ModelConfig parse_siglip(const ConfigReader& json) {
    ModelConfig c = parse(json, 768, 12, 3072, 1e-6, "gelu_pytorch_tanh");
    read_picture_size(json, c, 16);
    return c;
}

const LayerNames kLayer{.at = "encoder.layers.#.",
                        .ln1 = "layer_norm1",
                        .ln2 = "layer_norm2",
                        .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                        .o = "self_attn.out_proj",
                        .mlp_in = "mlp.fc1",
                        .mlp_out = "mlp.fc2"};

void add_projection(WeightMap& map, const ModelConfig& c, const std::string& name) {
    if (c.d_projection > 0) map.rows.push_back({Slot::projection, {name}, {c.d_projection, c.d_model}, Layout::out_in});
}

WeightMap text_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"text_model.", ""},
                  .rows = {{Slot::embed, {"embeddings.token_embedding.weight"}, {c.vocab_size, c.d_model}},
                           {Slot::pos_embed, {"embeddings.position_embedding.weight"}, {c.context_length, c.d_model}}},
                  .ignored = {"*position_ids", "vision_model.*", "visual_projection.weight", "logit_scale"}};
    add_layers(map, c, kLayer);
    add_norm(map, Slot::final_norm_gain, "final_layer_norm", c.d_model);
    add_projection(map, c, "text_projection.weight");
    return map;
}

WeightMap vision_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, p = c.patch_size;
    const std::string patch = "embeddings.patch_embedding.";
    WeightMap map{.prefixes = {"vision_model.", ""},
                  .rows = {{Slot::patch_weight, {patch + "weight"}, {d, kColours, p, p}},
                           {Slot::pos_embed, {"embeddings.position_embedding.weight"}, {c.context_length, d}}},
                  .ignored = {"*position_ids", "text_model.*", "text_projection.weight", "vision_model.head.*", "head.*",
                              "logit_scale", "logit_bias"}};
    if (c.class_tokens > 0) map.rows.push_back({Slot::class_embed, {"embeddings.class_embedding"}, {d}});
    if (c.patch_bias) map.rows.push_back({Slot::patch_bias, {patch + "bias"}, {d}});
    if (c.embed_norm) add_norm(map, Slot::embed_norm_gain, "pre_layrnorm", d);  // their spelling
    add_layers(map, c, kLayer);
    if (c.final_norm)
        add_norm(map, Slot::final_norm_gain, "post_layernorm", d);
    else
        map.ignored.emplace_back("*post_layernorm.*");
    add_projection(map, c, "visual_projection.weight");
    return map;
}

Spec text_spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding, Block::position_embedding},
           .layer = {Block::attention, Block::mlp},
           .after = {Block::final_norm}};
    if (c.d_projection > 0) s.after.push_back(Block::projection);
    return s;
}

constexpr std::string_view kTextNames[] = {"CLIPTextModel", "CLIPTextModelWithProjection"};
constexpr std::string_view kVisionNames[] = {"CLIPVisionModel", "CLIPVisionModelWithProjection"};
constexpr std::string_view kSiglipNames[] = {"SiglipVisionModel"};

}  // namespace clip

const Family kClipText = {"clip-text", clip::kTextNames, "clip_text_model", clip::parse_text, clip::text_map, clip::text_spec};
const Family kClipVision = {"clip-vision",      clip::kVisionNames, "clip_vision_model",
                            clip::parse_vision, clip::vision_map,   picture_spec};
const Family kSiglipVision = {"siglip-vision",    clip::kSiglipNames, "siglip_vision_model",
                              clip::parse_siglip, clip::vision_map,   picture_spec};

}  // namespace headlight::model
