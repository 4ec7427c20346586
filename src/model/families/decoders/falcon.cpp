// SPDX-License-Identifier: GPL-3.0-or-later
// Falcon: one or few key/value heads, attention and MLP in parallel after one norm or two.
// Falcon-RW: as many as heads, one after the other, with ALiBi.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"
#include "model/load/rope_config.h"

namespace headlight::model {
namespace falcon {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    read_sizes(json, c, {"num_hidden_layers", "n_layer"}, {"hidden_size"}, {"num_attention_heads", "n_head"});
    const bool grouped = json.flag("new_decoder_architecture", false), one = json.flag("multi_query", true);
    c.n_kv_heads = grouped ? json.size({"num_kv_heads", "n_head_kv"}, kMaxHeads, c.n_heads) : one ? 1 : c.n_heads;
    if (c.n_heads % c.n_kv_heads != 0)
        json.wrong("num_kv_heads", "a divisor of num_attention_heads " + std::to_string(c.n_heads), std::to_string(c.n_kv_heads));
    c.d_mlp = json.size({"ffn_hidden_size"}, kMaxWidth, 4 * c.d_model);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    const std::int64_t norms = json.size({"num_ln_in_parallel_attn"}, 2, grouped ? 2 : 1);
    c.parallel = grouped || json.flag("parallel_attn", true);
    if (grouped && !json.flag("parallel_attn", true)) json.unsupported("parallel_attn", "true, with new_decoder_architecture");
    if (!grouped && norms != 1) json.unsupported("num_ln_in_parallel_attn", "1, without new_decoder_architecture");
    c.shared_norm = c.parallel && norms == 1;
    c.query_bias = c.mlp_bias = json.flag("bias", false);
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
    c.activation = read_activation(json, "activation", "gelu");
    c.positions = json.flag("alibi", false) ? Positions::alibi : Positions::rotary;
    c.alibi = Alibi::falcon;
    if (c.positions == Positions::rotary) read_rope(json, c);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"transformer.", ""}, .ignored = {"*rotary_emb.inv_freq"}};
    // One key/value head: all queries, k, v. As many as query heads: q, k, v of each. Otherwise by group; with one group that
    // equals the first layout.
    map.qkv = c.n_kv_heads == c.n_heads ? QkvLayout::per_head : QkvLayout::grouped;
    const bool two = c.parallel && !c.shared_norm;
    add_decoder(map, c,
                {.embed = "word_embeddings",
                 .layer = {.at = "h.#.",
                           .ln1 = two ? "ln_attn" : "input_layernorm",
                           .ln2 = c.shared_norm ? ""
                                  : two         ? "ln_mlp"
                                                : "post_attention_layernorm",
                           .qkv = {"self_attention.query_key_value"},
                           .o = "self_attention.dense",
                           .mlp_in = "mlp.dense_h_to_4h",
                           .mlp_out = "mlp.dense_4h_to_h",
                           .o_bias = c.query_bias},
                 .final_norm = "ln_f",
                 .head = "lm_head"});
    return map;
}

constexpr std::string_view kArchitectures[] = {"FalconForCausalLM", "FalconModel", "RWForCausalLM"};

}  // namespace falcon

const Family kFalcon = {"falcon", falcon::kArchitectures, "falcon", falcon::parse_config, falcon::weight_map, decoder_spec};

}  // namespace headlight::model
