// SPDX-License-Identifier: GPL-3.0-or-later
// BLOOM: ALiBi, LayerNorm after the embedding, q, k and v interleaved per head in one matrix.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace bloom {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    read_sizes(json, c, {"n_layer", "num_hidden_layers"}, {"hidden_size", "n_embed"}, {"n_head", "num_attention_heads"});
    c.d_mlp = 4 * c.d_model;
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.has("seq_length") ? json.size({"seq_length"}, kMaxContext) : 0;
    c.context_is_hard_limit = false;
    c.embed_norm = true;
    c.residual_after_norm = json.flag("apply_residual_connection_post_layernorm", false);
    c.query_bias = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
    c.activation = Activation::gelu_bloom;
    c.positions = Positions::alibi;
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"transformer.", ""}, .qkv = QkvLayout::per_head};
    add_decoder(map, c,
                {.embed = "word_embeddings",
                 .embed_norm = "word_embeddings_layernorm",
                 .layer = {.at = "h.#.",
                           .ln1 = "input_layernorm",
                           .ln2 = "post_attention_layernorm",
                           .qkv = {"self_attention.query_key_value"},
                           .o = "self_attention.dense",
                           .mlp_in = "mlp.dense_h_to_4h",
                           .mlp_out = "mlp.dense_4h_to_h"},
                 .final_norm = "ln_f",
                 .head = "lm_head"});
    return map;
}

constexpr std::string_view kArchitectures[] = {"BloomForCausalLM", "BloomModel"};

}  // namespace bloom

const Family kBloom = {"bloom", bloom::kArchitectures, "bloom", bloom::parse_config, bloom::weight_map, decoder_spec};

}  // namespace headlight::model
