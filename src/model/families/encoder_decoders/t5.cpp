// SPDX-License-Identifier: GPL-3.0-or-later
// T5, Flan-T5, mT5, UMT5: encoder and decoder with RMSNorm in front and no bias anywhere, scores that are not scaled, and a bias
// by distance that all layers share (UMT5: each has its own).
#include "model/families/registry.h"
#include "model/families/rows.h"
#include "model/load/config_reader.h"

#include <cmath>

namespace headlight::model {
namespace t5 {

/// "relu", "gated-gelu": split as in transformers; the gated GELU is the tanh form.
void read_mlp(const ConfigReader& json, ModelConfig& c) {
    const std::string kind = json.text({"feed_forward_proj"}, "relu");
    c.gated_mlp = kind.starts_with("gated-");
    if (kind == "relu" || kind == "gated-relu")
        c.activation = Activation::relu;
    else if (kind == "gated-gelu" || kind == "gelu_new" || kind == "gated-gelu_new")
        c.activation = Activation::gelu_tanh;
    else if (kind == "gelu")
        c.activation = Activation::gelu;
    else if (kind == "silu" || kind == "gated-silu")
        c.activation = Activation::silu;
    else
        json.unsupported("feed_forward_proj", "relu, gelu, gated-gelu or gated-silu");
}

ModelConfig stack_config(const ConfigReader& json) {
    ModelConfig c;
    c.d_model = json.size({"d_model"}, kMaxWidth);
    c.n_heads = c.n_kv_heads = json.size({"num_heads"}, kMaxHeads);
    c.d_head = json.size({"d_kv"}, kMaxWidth);
    c.d_mlp = json.size({"d_ff"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.has("n_positions") ? json.size({"n_positions"}, kMaxContext) : 512;  // trained on, no limit
    c.context_is_hard_limit = false;
    c.mlp_bias = false;
    c.norm = Norm::rms_norm;
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-6);
    c.positions = Positions::relative;
    c.relative_buckets = json.size({"relative_attention_num_buckets"}, kMaxWidth, 32);
    c.relative_max_distance = json.size({"relative_attention_max_distance"}, kMaxContext, 128);
    if (c.relative_buckets % 2 != 0 || c.relative_buckets < 4 || c.relative_max_distance <= c.relative_buckets / 2)
        json.wrong("relative_attention_num_buckets", "an even number from 4, below twice the largest distance",
                   std::to_string(c.relative_buckets));
    c.score_scale = 1.0;
    read_mlp(json, c);
    return c;
}

ModelConfig decoder_of(const ConfigReader& json, bool may_scale) {
    json.require_flag("is_encoder_decoder", true, true);
    ModelConfig c = stack_config(json);
    c.stack = Stack::decoder;
    const std::int64_t encoder_layers = json.size({"num_layers"}, kMaxLayers);
    c.n_layers = json.size({"num_decoder_layers"}, kMaxLayers, encoder_layers);
    c.has_unembedding = c.tied_unembedding = generates(json.architecture());  // tied unless the files hold another
    // In transformers the flag of tied embeddings controls only this scale; files that 5.24 writes have the scale's own flag.
    if (may_scale && c.has_unembedding && json.flag("scale_decoder_outputs", json.flag("tie_word_embeddings", true)))
        c.logit_scale = 1.0 / std::sqrt(static_cast<double>(c.d_model));
    c.start_ids = {
        static_cast<std::int64_t>(json.signed_number({"decoder_start_token_id"}, json.signed_number({"pad_token_id"}, 0)))};
    return c;
}

ModelConfig parse_t5(const ConfigReader& json) { return decoder_of(json, true); }
ModelConfig parse_mt5(const ConfigReader& json) { return decoder_of(json, false); }

ModelConfig with_own_tables(ModelConfig c) {
    c.relative_by_layer = true;
    return c;
}

ModelConfig parse_umt5(const ConfigReader& json) { return with_own_tables(decoder_of(json, true)); }

ModelConfig encoder_config(const ConfigReader& json) {
    ModelConfig c = stack_config(json);
    c.stack = Stack::encoder;
    c.causal = false;
    c.has_unembedding = false;
    c.n_layers = json.size({"num_layers"}, kMaxLayers);
    return c;
}

ModelConfig encoder_of_umt5(const ConfigReader& json) { return with_own_tables(t5::encoder_config(json)); }

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model, m = c.d_mlp, inner = c.n_heads * c.d_head;
    const bool decoder = c.stack == Stack::decoder;
    const std::string stack = decoder ? "decoder." : "encoder.";
    const std::string first = stack + "block.#.layer.0.", cross = stack + "block.#.layer.1.";
    const std::string last = stack + (decoder ? "block.#.layer.2." : "block.#.layer.1.");
    // Old checkpoints of version 1.0 hold a table for the cross attention that is never used.
    WeightMap map{.prefixes = {"", "transformer."},
                  .ignored = {"*EncDecAttention.relative_attention_bias.weight", "*coder.embed_tokens.weight"}};
    const auto attention = [&](const std::string& name, Slot q, Slot k, Slot v, Slot o, Slot gain) {
        map.rows.push_back({gain, {name.substr(0, name.find_last_of('.', name.size() - 2)) + ".layer_norm.weight"}, {d}});
        map.rows.push_back({q, {name + "q.weight"}, {inner, d}, Layout::out_in});
        map.rows.push_back({k, {name + "k.weight"}, {inner, d}, Layout::out_in});
        map.rows.push_back({v, {name + "v.weight"}, {inner, d}, Layout::out_in});
        map.rows.push_back({o, {name + "o.weight"}, {d, inner}, Layout::out_in});
    };
    map.rows.push_back({Slot::embed, embedding_names(decoder), {c.vocab_size, d}});
    map.rows.push_back(
        {c.relative_by_layer ? Slot::own_relative_bias : Slot::relative_bias,
         {stack + (c.relative_by_layer ? "block.#" : "block.0") + ".layer.0.SelfAttention.relative_attention_bias.weight"},
         {c.relative_buckets, c.n_heads}});
    attention(first + "SelfAttention.", Slot::q_weight, Slot::k_weight, Slot::v_weight, Slot::o_weight, Slot::ln1_gain);
    if (decoder)
        attention(cross + "EncDecAttention.", Slot::cross_q_weight, Slot::cross_k_weight, Slot::cross_v_weight,
                  Slot::cross_o_weight, Slot::ln_cross_gain);
    const std::string dense = last + "DenseReluDense.";
    map.rows.push_back({Slot::ln2_gain, {last + "layer_norm.weight"}, {d}});
    add_linear(map, Slot::mlp_in_weight, dense + (c.gated_mlp ? "wi_0" : "wi"), m, d, false);
    if (c.gated_mlp) add_linear(map, Slot::mlp_up_weight, dense + "wi_1", m, d, false);
    add_linear(map, Slot::mlp_out_weight, dense + "wo", d, m, false);
    map.rows.push_back(
        {.slot = Slot::final_norm_gain, .names = {stack + "final_layer_norm.weight"}, .shape = {d}, .times = c.logit_scale});
    if (c.has_unembedding) add_unembedding(map, c);
    return map;
}

Spec spec(const ModelConfig& c) {
    Spec s{.before = {Block::token_embedding}, .layer = {Block::attention, Block::mlp}, .after = {Block::final_norm}};
    if (c.stack == Stack::decoder) {
        s.layer = {Block::attention, Block::cross_attention, Block::mlp};
        if (c.has_unembedding) s.after.push_back(Block::unembedding);
    }
    return s;
}

constexpr std::string_view kT5Architectures[] = {"T5ForConditionalGeneration", "T5WithLMHeadModel"};
constexpr std::string_view kMt5Architectures[] = {"MT5ForConditionalGeneration"};
constexpr std::string_view kUmt5Architectures[] = {"UMT5ForConditionalGeneration"};

}  // namespace t5

const Family kT5 = {"t5", t5::kT5Architectures, "t5", t5::parse_t5, t5::weight_map, t5::spec, t5::encoder_config};
const Family kMt5 = {"mt5", t5::kMt5Architectures, "mt5", t5::parse_mt5, t5::weight_map, t5::spec, t5::encoder_config};
const Family kUmt5 = {"umt5", t5::kUmt5Architectures, "umt5", t5::parse_umt5, t5::weight_map, t5::spec, t5::encoder_of_umt5};

}  // namespace headlight::model
