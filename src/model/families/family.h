// SPDX-License-Identifier: GPL-3.0-or-later
// What a family of models is to the rest: three functions and the names it goes by. One file per family beside this one.
#pragma once

#include "headlight/model/config.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

class ConfigReader;

/// A parameter of ours. Weights are kept in math orientation (x W): [in, out].
enum class Slot {
    embed,             ///< W_E [vocab, d_model]
    pos_embed,         ///< W_pos [context, d_model]
    token_type_embed,  ///< [types, d_model]
    embed_norm_gain,
    embed_norm_bias,
    embed_projection_weight,
    embed_projection_bias,  ///< [d_embed, d_model], [d_model]
    patch_weight,
    patch_bias,  ///< [colour * patch_size^2, d_model], [d_model]
    class_embed,
    distill_embed,  ///< [d_model]: rows in front of the patches
    ln1_gain,
    ln1_bias,
    q_weight,
    q_bias,
    k_weight,
    k_bias,
    v_weight,
    v_bias,  ///< [d_model, heads * d_head], [heads * d_head]
    qkv_weight,
    qkv_bias,  ///< the three in one matrix, see QkvLayout
    o_weight,
    o_bias,  ///< [heads * d_value, d_model], [d_model]
    /// Latent attention: the stream to the latent of queries, its norm; the stream to the latent of keys and values and the
    /// rotating key, the norm of the latent, and keys' content and values of every head. Queries are made by q_weight.
    q_down_weight,
    q_latent_gain,  ///< [d_model, query_rank], [query_rank]
    kv_down_weight,
    latent_gain,
    kv_up_weight,  ///< [d_model, rank + rope_dims], [rank], [rank, heads * (content + d_value)]
    q_norm_gain,
    q_norm_bias,
    k_norm_gain,
    k_norm_bias,  ///< [d_head], [heads, d_head] or [heads * d_head]
    ln1_post_gain,
    ln1_post_bias,
    ln2_post_gain,
    ln2_post_bias,
    ln2_gain,
    ln2_bias,
    mlp_in_weight,
    mlp_in_bias,  ///< [d_model, d_mlp]; the gate of a gated MLP
    mlp_up_weight,
    mlp_up_bias,  ///< the linear branch of a gated MLP
    mlp_gate_up_weight,
    mlp_gate_up_bias,  ///< gate and linear branch in one matrix, in this order; taken apart on loading
    mlp_out_weight,
    mlp_out_bias,  ///< [d_mlp, d_model]
    sinks,         ///< [heads] a score of no key in each head's softmax
    router_weight,
    router_bias,
    shared_gate_weight,  ///< [d_model, experts], [experts], [d_model, 1]
    router_correction,   ///< [experts] added to the experts' scores while they are chosen
    /// Of all experts in one tensor, gate and linear branch in turn: [expert, d_model, 2 width], [expert, 2 width],
    /// [expert, width, d_model], [expert, d_model].
    experts_gate_up_weight,
    experts_gate_up_bias,
    experts_out_weight,
    experts_out_bias,
    final_norm_gain,
    final_norm_bias,
    mlm_weight,
    mlm_bias,
    mlm_norm_gain,
    mlm_norm_bias,
    unembed,  ///< W_U [d_model, vocab]; absent when tied
    unembed_bias,
    relative_bias,  ///< [buckets, heads]
    ln_cross_gain,
    ln_cross_bias,  ///< of the attention to an encoder's output, as the others
    cross_q_weight,
    cross_q_bias,
    cross_k_weight,
    cross_k_bias,
    cross_v_weight,
    cross_v_bias,
    cross_o_weight,
    cross_o_bias,
    projection,      ///< [d_model, d_projection]
    relative_embed,  ///< [2 span, d_model], relative positions (DeBERTa)
    relative_norm_gain,
    relative_norm_bias,
    relative_q_weight,
    relative_q_bias,
    relative_k_weight,
    relative_k_bias,  ///< of the layer: [d_model, heads * d_head]
    conv_weight,
    conv_bias,
    conv_norm_gain,
    conv_norm_bias,  ///< beside layer 0: [d_model / groups * width, d_model], [d_model]
    count,
};

/// How a stored matrix lies: as a Conv1D keeps it, [in, out], or as a Linear keeps it, [out, in]. Vectors are plain.
enum class Layout { plain, in_out, out_in };

/// Columns of a fused qkv product: all of q, then k, then v; or for every head its q, k, v (BLOOM); or, taken apart on
/// loading: q, k, v of different widths one after the other (Phi-3), or for every key/value head its queries, k, v (Falcon).
enum class QkvLayout { separate, thirds, per_head, blocks, grouped };

/// One line of a family's weight map.
struct WeightRow {
    Slot slot;
    std::vector<std::string> names;   ///< theirs, the first that is there counts; '#' stands for the layer, '@' for the expert
    std::vector<std::int64_t> shape;  ///< as stored
    Layout layout = Layout::plain;
    bool head = false;                      ///< part of the unembedding head, which may be absent as a whole
    bool shared = false;                    ///< one tensor for all layers (ALBERT); its names have no '#'
    std::int64_t first_layer = 0;           ///< layers before it do without (ModernBERT's first norm)
    std::vector<std::int64_t> layers = {};  ///< only these; empty: all
    /// Of an expert (experts: how many there are) or the shared one (1): a part of the layer's matrix, the first one at hidden
    /// unit `unit`.
    std::int64_t experts = 0, unit = 0;
    double times = 1, plus = 0;  ///< what the model computes with is times * stored + plus (Gemma's gains: 1 + stored)
};

struct WeightMap {
    std::vector<std::string> prefixes;  ///< tried in this order before every name; "" among them
    std::vector<WeightRow> rows;
    QkvLayout qkv = QkvLayout::separate;
    std::string head_name;             ///< what the report calls an absent head: "MLM head"
    std::vector<std::string> ignored;  ///< globs of tensors that are known and not needed
};

/// Blocks of the pass, in order. What they do inside follows the configuration. Relative positions are a table that the
/// scores of every layer read: they do nothing to the stream. The convolution stands in layer 0 alone.
enum class Block {
    token_embedding,
    position_embedding,
    token_type_embedding,
    embedding_norm,
    embedding_projection,
    relative_positions,
    patch_embedding,
    attention,
    mlp,
    final_norm,
    mlm_head,
    projection,
    unembedding,
    cross_attention,
    convolution
};
struct Spec {
    std::vector<Block> before;
    std::vector<Block> layer;  ///< repeated n_layers times
    std::vector<Block> after;
};

struct Family {
    std::string_view name;                            ///< "bloom"
    std::span<const std::string_view> architectures;  ///< as config.json spells them, whole models only
    std::string_view model_type;                      ///< of config.json, used where the architecture is not listed
    ModelConfig (*parse_config)(const ConfigReader&);
    WeightMap (*weight_map)(const ModelConfig&);
    Spec (*spec)(const ModelConfig&);
    /// Encoder-decoder models: parse_config is the decoder's, this the encoder's; the two others are asked for both.
    ModelConfig (*encoder_config)(const ConfigReader&) = nullptr;
};

/// All families, in the order they are listed to people.
std::span<const Family> families();
/// Error with the list of known architectures when there is none for this config.json.
const Family& family_for(const ConfigReader&);

}  // namespace headlight::model
