// SPDX-License-Identifier: GPL-3.0-or-later
// MPT: ALiBi, no biases anywhere.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace mpt {

ModelConfig parse_config(const ConfigReader& json) {
    json.require_flag("no_bias", true, true);
    if (json.has("logit_scale")) json.unsupported("logit_scale", "null");
    ModelConfig c;
    read_sizes(json, c, {"n_layers"}, {"d_model"}, {"n_heads"});
    c.d_mlp = 4 * c.d_model;
    if (json.size({"expansion_ratio"}, kMaxWidth, 4) != 4) json.unsupported("expansion_ratio", "4");
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_seq_len"}, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    c.mlp_bias = false;
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
    c.activation = Activation::gelu;
    c.positions = Positions::alibi;
    c.alibi = Alibi::mpt;
    if (const auto attention = json.object("attn_config")) {
        attention->require_flag("alibi", true, true);
        attention->require_flag("qk_ln", false, false);
        attention->require_flag("prefix_lm", false, false);
        if (attention->text({"attn_type"}, "multihead_attention") != "multihead_attention")
            attention->unsupported("attn_type", "\"multihead_attention\"");
        // As in the authors' code; transformers computes with 8 whatever the field says (MPT-7B-StoryWriter has 16).
        c.alibi_max = attention->number({"alibi_bias_max"}, 8.0);
        c.score_scale = attention->number({"softmax_scale"}, c.score_scale);
        if (attention->has("clip_qkv")) c.qkv_clip = attention->number({"clip_qkv"});
    }
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"transformer.", ""}, .qkv = QkvLayout::thirds};
    add_decoder(map, c,
                {.embed = "wte",
                 .layer = {.at = "blocks.#.",
                           .ln1 = "norm_1",
                           .ln2 = "norm_2",
                           .qkv = {"attn.Wqkv"},
                           .o = "attn.out_proj",
                           .mlp_in = "ffn.up_proj",
                           .mlp_out = "ffn.down_proj",
                           .o_bias = false,
                           .norm_bias = false},
                 .final_norm = "norm_f",
                 .head = "lm_head"});
    return map;
}

constexpr std::string_view kArchitectures[] = {"MptForCausalLM", "MptModel", "MPTForCausalLM"};

}  // namespace mpt

const Family kMpt = {"mpt", mpt::kArchitectures, "mpt", mpt::parse_config, mpt::weight_map, decoder_spec};

}  // namespace headlight::model
