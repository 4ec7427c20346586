// SPDX-License-Identifier: GPL-3.0-or-later
// SigLIP's vision tower (Zhai et al. 2023): a ViT without a class token. Its end is the last norm: the head that pools the
// patches is an attention of one learned query beyond the stream, and is not computed.
#include "model/families/pictures/picture_fields.h"
#include "model/families/registry.h"
#include "model/families/rows.h"

namespace headlight::model {
namespace siglip {

ModelConfig parse(const ConfigReader& json) {
    ModelConfig c = picture_stack(json, 768, 12, 3072, 1e-6, "gelu_pytorch_tanh");
    c.query_bias = true;
    c.causal = false;
    c.has_unembedding = false;
    read_picture_size(json, c, 16, 0);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, p = c.patch_size;
    WeightMap map{.prefixes = {"vision_model.", ""},
                  .rows = {{Slot::patch_weight, {"embeddings.patch_embedding.weight"}, {d, kColours, p, p}},
                           {Slot::patch_bias, {"embeddings.patch_embedding.bias"}, {d}},
                           {Slot::pos_embed, {"embeddings.position_embedding.weight"}, {c.context_length, d}}},
                  .ignored = {"*position_ids", "text_model.*", "vision_model.head.*", "head.*", "logit_scale", "logit_bias"}};
    add_layers(map, c,
               {.at = "encoder.layers.#.",
                .ln1 = "layer_norm1",
                .ln2 = "layer_norm2",
                .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                .o = "self_attn.out_proj",
                .mlp_in = "mlp.fc1",
                .mlp_out = "mlp.fc2"});
    add_norm(map, Slot::final_norm_gain, "post_layernorm", d);
    return map;
}

Spec spec(const ModelConfig&) {
    return {.before = {Block::patch_embedding, Block::position_embedding},
            .layer = {Block::attention, Block::mlp},
            .after = {Block::final_norm}};
}

constexpr std::string_view kNames[] = {"SiglipVisionModel"};

}  // namespace siglip

const Family kSiglipVision = {"siglip-vision", siglip::kNames,     "siglip_vision_model",
                              siglip::parse,   siglip::weight_map, siglip::spec};

}  // namespace headlight::model
