// SPDX-License-Identifier: GPL-3.0-or-later
// GPT-2: learned positions, weights kept as Conv1D keeps them, q, k and v as thirds of one matrix.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace gpt2 {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("add_cross_attention", false, false);
    ModelConfig c;
    read_gpt2_sizes(json, c, kMaxWidth, {});
    c.query_bias = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.activation = read_activation(json, "activation_function", "gelu_new");
    c.positions = Positions::learned;
    if (!json.flag("scale_attn_weights", true)) c.score_scale = 1.0;
    c.scale_by_layer = json.flag("scale_attn_by_inverse_layer_idx", false);
    c.wide_scores = json.flag("reorder_and_upcast_attn", false);
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp;
    WeightMap map{
        .prefixes = {"transformer.", ""},
        .rows =
            {
                {Slot::embed, {"wte.weight"}, {c.vocab_size, d}},
                {Slot::pos_embed, {"wpe.weight"}, {c.context_length, d}},
                {Slot::ln1_gain, {"h.#.ln_1.weight"}, {d}},
                {Slot::ln1_bias, {"h.#.ln_1.bias"}, {d}},
                {Slot::qkv_weight, {"h.#.attn.c_attn.weight"}, {d, 3 * d}, Layout::in_out},
                {Slot::qkv_bias, {"h.#.attn.c_attn.bias"}, {3 * d}},
                {Slot::o_weight, {"h.#.attn.c_proj.weight"}, {d, d}, Layout::in_out},
                {Slot::o_bias, {"h.#.attn.c_proj.bias"}, {d}},
                {Slot::ln2_gain, {"h.#.ln_2.weight"}, {d}},
                {Slot::ln2_bias, {"h.#.ln_2.bias"}, {d}},
                {Slot::mlp_in_weight, {"h.#.mlp.c_fc.weight"}, {d, m}, Layout::in_out},
                {Slot::mlp_in_bias, {"h.#.mlp.c_fc.bias"}, {m}},
                {Slot::mlp_out_weight, {"h.#.mlp.c_proj.weight"}, {m, d}, Layout::in_out},
                {Slot::mlp_out_bias, {"h.#.mlp.c_proj.bias"}, {d}},
                {Slot::final_norm_gain, {"ln_f.weight"}, {d}},
                {Slot::final_norm_bias, {"ln_f.bias"}, {d}},
            },
        .qkv = QkvLayout::thirds,
        .head_name = "language model head",
        .ignored = {"*h.*.attn.bias", "*h.*.attn.masked_bias"},  // the causal mask, stored by old versions
    };
    add_language_head(map, c, "lm_head.weight");
    return map;
}

constexpr std::string_view kArchitectures[] = {"GPT2LMHeadModel", "GPT2Model"};

}  // namespace gpt2

const Family kGpt2 = {"gpt2", gpt2::kArchitectures, "gpt2", gpt2::parse_config, gpt2::weight_map, decoder_spec};

}  // namespace headlight::model
