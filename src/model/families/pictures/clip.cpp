// SPDX-License-Identifier: GPL-3.0-or-later
// CLIP's towers (Radford et al. 2021), each a separate model: a causal decoder without logits whose output is the row of
// the end-of-text token, and a ViT with a norm before its layers whose output is the row of the class token. Both are
// projected to one width. src/model/load/tower.h chooses the tower of a folder.
#include "model/families/pictures/picture_fields.h"
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace clip {

ModelConfig parse(const ConfigReader& json, std::int64_t width, std::int64_t heads, std::int64_t hidden) {
    ModelConfig c = picture_stack(json, width, heads, hidden, 1e-5, "quick_gelu");
    c.query_bias = true;
    c.has_unembedding = false;
    if (json.architecture().ends_with("WithProjection")) c.d_projection = json.size({"projection_dim"}, kMaxWidth, 512);
    return c;
}

ModelConfig parse_text(const ConfigReader& json) {
    ModelConfig c = parse(json, 512, 8, 2048);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab, 49408);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth, 77);
    return c;
}

ModelConfig parse_vision(const ConfigReader& json) {
    ModelConfig c = parse(json, 768, 12, 3072);
    c.causal = false;
    c.embed_norm = true;
    c.patch_bias = false;
    read_picture_size(json, c, 32, 1);
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
    WeightMap map{.prefixes = {"vision_model.", ""},
                  .rows = {{Slot::class_embed, {"embeddings.class_embedding"}, {d}},
                           {Slot::patch_weight, {"embeddings.patch_embedding.weight"}, {d, kColours, p, p}},
                           {Slot::pos_embed, {"embeddings.position_embedding.weight"}, {c.context_length, d}}},
                  .ignored = {"*position_ids", "text_model.*", "text_projection.weight", "logit_scale"}};
    add_norm(map, Slot::embed_norm_gain, "pre_layrnorm", d);  // their spelling
    add_layers(map, c, kLayer);
    add_norm(map, Slot::final_norm_gain, "post_layernorm", d);
    add_projection(map, c, "visual_projection.weight");
    return map;
}

Spec spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding, Block::position_embedding},
           .layer = {Block::attention, Block::mlp},
           .after = {Block::final_norm}};
    if (reads_pictures(c)) s.before = {Block::patch_embedding, Block::position_embedding, Block::embedding_norm};
    if (c.d_projection > 0) s.after.push_back(Block::projection);
    return s;
}

constexpr std::string_view kTextNames[] = {"CLIPTextModel", "CLIPTextModelWithProjection"};
constexpr std::string_view kVisionNames[] = {"CLIPVisionModel", "CLIPVisionModelWithProjection"};

}  // namespace clip

const Family kClipText = {"clip-text", clip::kTextNames, "clip_text_model", clip::parse_text, clip::text_map, clip::spec};
const Family kClipVision = {"clip-vision",      clip::kVisionNames, "clip_vision_model",
                            clip::parse_vision, clip::vision_map,   clip::spec};

}  // namespace headlight::model
