// SPDX-License-Identifier: GPL-3.0-or-later
// The interface of a model family: its names and three functions. One file per family in this folder.
#pragma once

#include "headlight/model/config.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

class ConfigReader;

/// A parameter; slots.def has one row for each.
enum class Slot {
#define HEADLIGHT_SLOT(slot, member, name) slot,
#include "model/families/slots.def"
};

/// Order of a stored matrix: [in, out] as in Conv1D, or [out, in] as in Linear. Vectors are plain.
enum class Layout { plain, in_out, out_in };

/// Columns of a fused qkv product: all of q, then k, then v; or for every head its q, k, v (BLOOM). Split on loading: q, k, v
/// of different widths one after the other (Phi-3), or for every key/value head its queries, k, v (Falcon).
enum class QkvLayout { separate, thirds, per_head, blocks, grouped };

/// Where a row's matrix lies in a tensor of all experts: its first axis is the expert, the second `count` parts.
struct ExpertPiece {
    std::vector<std::string> of = {};  ///< names of such tensors; empty: there are none
    std::int64_t index = 0, count = 1;
};

/// One tensor of a family's weight map.
struct WeightRow {
    Slot slot;
    std::vector<std::string> names;   ///< in the files, the first that exists counts; '#' is the layer, '@' the expert
    std::vector<std::int64_t> shape;  ///< as stored
    Layout layout = Layout::plain;
    bool head = false;                      ///< part of the unembedding head, which may be absent as a whole
    bool optional = false;                  ///< may be absent by itself: then there is no such parameter
    bool shared = false;                    ///< one tensor for all layers (ALBERT); its names have no '#'
    std::int64_t first_layer = 0;           ///< earlier layers have no such tensor (ModernBERT's first norm)
    std::vector<std::int64_t> layers = {};  ///< only these; empty: all
    /// Of an expert (experts: how many there are) or the shared one (1): a part of the layer's matrix, the first one at hidden
    /// unit `unit`.
    std::int64_t experts = 0, unit = 0;
    double times = 1, plus = 0;  ///< what the model computes with is times * stored + plus (Gemma's gains: 1 + stored)
    ExpertPiece piece = {};      ///< of an expert: where it is found if no tensor has its name
};

struct WeightMap {
    std::vector<std::string> prefixes = {};  ///< tried in this order before every name; "" among them
    std::vector<WeightRow> rows = {};
    QkvLayout qkv = QkvLayout::separate;
    std::string head_name = {};             ///< name of the head in the report if it is absent: "MLM head"
    std::vector<std::string> ignored = {};  ///< globs of known tensors that are not needed
};

/// Blocks of the pass, in order. What they do inside follows the configuration. Relative positions are a table that the
/// scores of every layer read: they do nothing to the stream. The convolution stands in layer 0 alone. mean_rows puts the mean of
/// a text's rows into each of them; mlm_head is the dense layer of a class head too.
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
    mean_rows,
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
    /// Encoder-decoder models: parse_config is for the decoder, this for the encoder; the other two functions serve both.
    ModelConfig (*encoder_config)(const ConfigReader&) = nullptr;
    std::span<const std::string_view> other_types = {};  ///< more values of config.json's model_type
};

/// All families, in the order of listings.
std::span<const Family> families();
/// Error with the nearest known architectures if none matches this config.json.
const Family& family_for(const ConfigReader&);

}  // namespace headlight::model
