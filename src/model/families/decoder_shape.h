// SPDX-License-Identifier: GPL-3.0-or-later
// What decoders with LayerNorms, biases and an ungated MLP have in common (GPT-2's kin); llama_shape.h is of the others.
#pragma once

#include "model/families/family.h"

#include <cstdint>
#include <optional>
#include <string>

namespace headlight::model {

class ConfigReader;

/// Fields of GPT-2's configuration ("n_layer", "n_embd", "n_head", "n_inner", "n_positions" and "layer_norm_epsilon").
void read_gpt2_sizes(const ConfigReader&, ModelConfig&, std::int64_t max_context, std::optional<std::int64_t> context);
/// The same fields under the names that later models have ("num_hidden_layers", "hidden_size", …), but for the width of the MLP.
void read_decoder_sizes(const ConfigReader&, ModelConfig&, std::int64_t max_context);

/// What a family calls its modules: without ".weight" and ".bias"; '#' stands for the layer. Empty: the model has none.
struct DecoderNames {
    std::string embed, pos_embed;
    std::string ln1, ln2;  ///< ln2 is empty where the MLP reads what attention reads
    std::string qkv;       ///< one matrix for the three, or
    std::string q, k, v;
    bool qkv_bias = true;
    std::string o;
    bool o_bias = true;
    std::string mlp_in, mlp_out;
    std::string final_norm, head;
    bool head_bias = false;
};
/// Rows of the whole model, Linear layout.
void add_decoder(WeightMap&, const ModelConfig&, const DecoderNames&);

/// Embeddings (with learned positions where the configuration has them), layers, final norm, unembedding.
Spec decoder_spec(const ModelConfig&);

}  // namespace headlight::model
