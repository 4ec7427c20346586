// SPDX-License-Identifier: GPL-3.0-or-later
// NomicBERT (nomic-embed-text): BERT with rotary positions, a gated MLP and no biases but those of the norms. Its files go
// by the names of their authors' code (GPT-2's fields, fused Wqkv); transformers 5 reads and writes the same names.
#include "model/families/encoders/encoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"
#include "model/load/rope_config.h"

namespace headlight::model {
namespace nomic_bert {

/// Fields of the authors' code that change the numbers; transformers' own configuration has none of them.
void refuse_variants(const ConfigReader& json) {
    for (const char* field : {"prenorm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "rotary_emb_interleaved",
                              "use_rms_norm", "parallel_block", "causal", "add_cross_attention", "is_decoder"})
        json.require_flag(field, false, false);
    for (const char* field : {"rotary_emb_scale_base", "rotary_scaling_factor", "moe_every_n_layers"})
        if (json.has(field) && json.signed_number({field}, 0) > 0) json.unsupported(field, "no such value");
    if (json.number({"rotary_emb_fraction"}, 1.0) != 1.0) json.unsupported("rotary_emb_fraction", "1");
}

ModelConfig parse_config(const ConfigReader& json) {
    refuse_variants(json);
    ModelConfig c = encoder_config(json);
    c.d_mlp = json.size({"intermediate_size", "n_inner"}, kMaxWidth);
    c.type_vocab_size = json.size({"type_vocab_size"}, kMaxWidth, 2);
    c.context_length = json.size({"max_position_embeddings", "n_positions"}, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    c.query_bias = c.mlp_bias = false;
    c.gated_mlp = true;
    const bool swiglu = !json.has("hidden_act") && json.text({"activation_function"}, "swiglu") == "swiglu";
    if (!swiglu && !json.has("hidden_act")) json.unsupported("activation_function", "\"swiglu\"");
    c.activation = c.mlm_activation = swiglu ? Activation::silu : read_activation(json, "hidden_act", "silu");
    c.positions = Positions::rotary;
    read_rope(json, c, {}, json.number({"rotary_emb_base"}, 1000.0));
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::string head = "cls.predictions.";
    WeightMap map{.prefixes = {"nomic_bert.", "bert.", ""},
                  .qkv = QkvLayout::thirds,
                  .ignored = {"*embeddings.position_ids", "*pooler.dense.*", "*inv_freq"}};
    add_bert_embeddings(map, c, "emb_ln");
    add_layers(map, c,
               {.at = "encoder.layers.#.",
                .ln1 = "norm1",
                .ln2 = "norm2",
                .qkv = {"attn.Wqkv"},
                .o = "attn.out_proj",
                .mlp_in = "mlp.fc12",
                .mlp_up = "mlp.fc11",
                .mlp_out = "mlp.fc2",
                .o_bias = false});
    add_masked_word_head(map, c,
                         {.dense = head + "transform.dense",
                          .norm = head + "transform.layer_norm",
                          .decoder = head + "decoder",
                          .biases = {head + "bias", head + "decoder.bias"}});
    return map;
}

constexpr std::string_view kArchitectures[] = {"NomicBertModel", "NomicBertForMaskedLM"};

}  // namespace nomic_bert

const Family kNomicBert = {
    "nomic-bert", nomic_bert::kArchitectures, "nomic_bert", nomic_bert::parse_config, nomic_bert::weight_map, encoder_spec};

}  // namespace headlight::model
