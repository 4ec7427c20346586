// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by decoders like GPT-2: LayerNorms and an ungated MLP. llama_shape.h serves the others.
#pragma once

#include "model/families/rows.h"

#include <cstdint>
#include <optional>
#include <string>

namespace headlight::model {

class ConfigReader;

/// Fields of GPT-2's configuration ("n_layer", "n_embd", "n_head", "n_inner", "n_positions" and "layer_norm_epsilon").
void read_gpt2_sizes(const ConfigReader&, ModelConfig&, std::int64_t max_context, std::optional<std::int64_t> context);
/// The same fields under the names that later models have ("num_hidden_layers", "hidden_size", …), but for the width of the MLP.
void read_decoder_sizes(const ConfigReader&, ModelConfig&, std::int64_t max_context);

/// A family's names of modules, without ".weight" and ".bias"; empty if it has none.
struct DecoderNames {
    std::string embed, pos_embed = {}, embed_norm = {};
    LayerNames layer;
    std::string final_norm, head;
    bool head_bias = false;
};
/// Rows of the whole model, Linear layout.
void add_decoder(WeightMap&, const ModelConfig&, const DecoderNames&);

/// Embedding, learned positions and embedding norm if configured, layers, final norm, unembedding.
Spec decoder_spec(const ModelConfig&);

}  // namespace headlight::model
