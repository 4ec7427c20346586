// SPDX-License-Identifier: GPL-3.0-or-later
// MPNet: RoBERTa with a bias of the scores by distance. ESM-2 and ESM-1b (proteins): a pre-norm encoder with rotary or learned
// positions, whose embeddings depend on how many tokens of the text are masked.
#include "model/families/encoders/encoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace esm {

/// Learned positions of tokens that are no padding, from the padding id on.
void count_from_padding(const ConfigReader& json, ModelConfig& c, std::int64_t padding) {
    c.positions = Positions::learned;
    c.position_pad_id = padding;
    c.position_offset = padding + 1;
    c.context_length -= c.position_offset;
    if (padding < 0 || c.context_length < 1)
        json.wrong("pad_token_id", "a token id below max_position_embeddings", std::to_string(padding));
}

ModelConfig parse_mpnet(const ConfigReader& json) {
    constexpr std::int64_t buckets = 32;
    ModelConfig c = bert_config(json);
    c.type_vocab_size = 0;
    count_from_padding(json, c, 1);  // whatever the file says
    if (json.size({"relative_attention_num_buckets"}, kMaxWidth, buckets) != buckets)
        json.unsupported("relative_attention_num_buckets", "32");
    c.relative_buckets = buckets;
    c.relative_max_distance = 128;
    return c;
}

WeightMap mpnet_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"mpnet.", ""}, .ignored = {"*embeddings.position_ids", "*pooler.dense.*"}};
    add_bert_embeddings(map, c);
    map.rows.push_back({Slot::relative_bias, {"encoder.relative_attention_bias.weight"}, {c.relative_buckets, c.n_heads}});
    LayerNames layer = bert_layer();
    layer.ln1 = "attention.LayerNorm";
    layer.qkv = {"attention.attn.q", "attention.attn.k", "attention.attn.v"};
    layer.o = "attention.attn.o";
    add_layers(map, c, layer);
    add_masked_word_head(
        map, c,
        {.dense = "lm_head.dense", .norm = "lm_head.layer_norm", .decoder = "lm_head.decoder", .biases = biases_of_head(c)});
    return map;
}

ModelConfig parse_esm(const ConfigReader& json) {
    json.require_flag("is_decoder", false, false);
    json.require_flag("add_cross_attention", false, false);
    json.require_flag("is_folding_model", false, false);
    ModelConfig c = encoder_config(json);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, 1026);
    c.post_norm = false;
    c.final_norm = true;
    c.embed_norm = json.flag("emb_layer_norm_before", false);
    c.activation = c.mlm_activation = Activation::gelu;
    const std::string kind = json.text({"position_embedding_type"}, "absolute");
    if (kind == "rotary") {
        c.positions = Positions::rotary;
        c.rope.theta = json.number({"rope_theta"}, 10000.0);
        c.rope_dims = c.d_head;
        c.context_is_hard_limit = false;
        if (c.d_head % 2 != 0) json.wrong("num_attention_heads", "heads of an even width", std::to_string(c.d_head));
    } else if (kind == "absolute") {
        count_from_padding(json, c, static_cast<std::int64_t>(json.signed_number({"pad_token_id"}, 1)));
    } else {
        json.unsupported("position_embedding_type", "\"rotary\" or \"absolute\"");
    }
    if (json.flag("token_dropout", false)) {
        c.dropped_token = json.size({"mask_token_id"}, kMaxVocab);
        c.kept_share = 1 - 0.15 * 0.8;  // masked tokens of all when ESM models were trained
    }
    return c;
}

WeightMap esm_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"esm.", ""},
                  .ignored = {"*embeddings.position_ids", "*pooler.dense.*", "*contact_head.*", "*rotary_embeddings.inv_freq",
                              "*embeddings.position_embeddings.weight"}};
    add_bert_embeddings(map, c, "embeddings.layer_norm");
    LayerNames layer = bert_layer();
    layer.ln1 = "attention.LayerNorm";
    layer.ln2 = "LayerNorm";
    add_layers(map, c, layer);
    if (c.positions == Positions::rotary)
        map.rows.push_back({.slot = Slot::rope_frequencies,
                            .names = {"rotary_embeddings.inv_freq", "encoder.layer.0.attention.self.rotary_embeddings.inv_freq"},
                            .shape = {c.rope_dims / 2},
                            .optional = true});
    add_norm(map, Slot::final_norm_gain, "encoder.emb_layer_norm_after", c.d_model);
    add_masked_word_head(
        map, c,
        {.dense = "lm_head.dense", .norm = "lm_head.layer_norm", .decoder = "lm_head.decoder", .biases = {"lm_head.bias"}});
    return map;
}

constexpr std::string_view kMpnetNames[] = {"MPNetModel", "MPNetForMaskedLM"};
constexpr std::string_view kEsmNames[] = {"EsmModel", "EsmForMaskedLM"};

}  // namespace esm

const Family kMpnet = {"mpnet", esm::kMpnetNames, "mpnet", esm::parse_mpnet, esm::mpnet_map, encoder_spec};
const Family kEsm = {"esm", esm::kEsmNames, "esm", esm::parse_esm, esm::esm_map, encoder_spec};

}  // namespace headlight::model
