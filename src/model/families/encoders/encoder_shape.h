// SPDX-License-Identifier: GPL-3.0-or-later
// Shared by encoders like BERT: fields of config.json, names of tensors, the masked-word head.
#pragma once

#include "model/families/rows.h"

#include <string>
#include <vector>

namespace headlight::model {

class ConfigReader;

/// Sizes, LayerNorm's epsilon and the switches of a post-norm encoder with biases. The family reads d_mlp, context length,
/// activation and positions, and changes what differs.
ModelConfig encoder_config(const ConfigReader&);
/// encoder_config() with BERT's fields for the rest. Refuses decoders, and positions other than absolute or relative to the key
/// (and query).
ModelConfig bert_config(const ConfigReader&, const std::string& activation = "gelu");

/// "attention_window" of Longformer and LED, one for all layers or a list: half of it to either side, and the token itself. The
/// reference pads a text to a multiple of the widest, and no token attends to the padding.
void read_attention_windows(const ConfigReader&, ModelConfig&);

/// "embeddings.word_embeddings", with the positions and token types that the configuration has, then `norm`.
void add_bert_embeddings(WeightMap&, const ModelConfig&, const std::string& norm = "embeddings.LayerNorm");
/// "encoder.layer.#.attention.self.query", …
LayerNames bert_layer();

/// Modules of a masked-word head: dense layer, norm, decoder, and the tensors that may hold the decoder's bias.
struct MaskedWordHead {
    std::string dense, norm, decoder;
    std::vector<std::string> biases;
    bool required = false;  ///< even where the architecture is not "…ForMaskedLM"
    bool with_bias = true;  ///< of dense layer and norm
};
/// "lm_head.bias" and the decoder's own, which counts where the two are not tied.
std::vector<std::string> biases_of_head(const ModelConfig&);
void add_masked_word_head(WeightMap&, const ModelConfig&, const MaskedWordHead&);

/// Embeddings, attention and MLP, and the head, as far as the configuration has them.
Spec encoder_spec(const ModelConfig&);

}  // namespace headlight::model
