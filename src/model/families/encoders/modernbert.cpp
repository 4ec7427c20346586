// SPDX-License-Identifier: GPL-3.0-or-later
// ModernBERT: bidirectional, pre-norm, rotary positions, gated MLP; two of three layers have a local window. Its decoder (Ettin)
// is the same with a causal mask, and q, k and v in matrices of their own.
#include "model/families/encoders/encoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"
#include "model/load/rope_config.h"

#include <algorithm>

namespace headlight::model {
namespace modernbert {

ModelConfig parse_config(const ConfigReader& json) {
    // Fields that only add biases to products that have none in the released models.
    for (const char* field : {"attention_bias", "mlp_bias", "norm_bias", "classifier_bias"})
        json.require_flag(field, false, false);
    json.require_flag("decoder_bias", true, true);
    ModelConfig c = encoder_config(json);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, 8192);
    c.context_is_hard_limit = false;
    c.post_norm = c.query_bias = false;
    c.final_norm = true;
    c.gated_mlp = true;
    c.mlp_bias = false;
    c.first_layer_unnormed = true;
    c.norm_epsilon = json.number({"norm_eps"}, 1e-5);
    c.activation = read_activation(json, "hidden_activation", "gelu");
    c.mlm_activation = read_activation(json, "classifier_activation", "gelu");
    c.positions = Positions::rotary;
    read_rope(json, c, {}, json.number({"global_rope_theta"}, 160000.0));
    const auto rope = json.object("rope_parameters");
    if (!rope || !rope->object_of_kind("sliding_attention")) c.local_rope.theta = json.number({"local_rope_theta"}, 10000.0);
    // Half the field's number to either side, itself included: nearer than half + 1.
    const std::int64_t window = json.size({"local_attention"}, kMaxContext, 128) / 2 + 1;
    const std::int64_t every = json.size({"global_attn_every_n_layers"}, kMaxLayers, 3);
    if (json.has("layer_types")) {
        read_layer_types(json, c, window, [](std::int64_t) { return false; });
    } else {
        for (std::int64_t l = 0; l < c.n_layers; ++l) c.windows.push_back(l % every != 0 ? window : 0);
    }
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        c.layer_rope.push_back(window_of(c, l) > 0 ? LayerRope::local : LayerRope::global);
    return c;
}

ModelConfig parse_decoder(const ConfigReader& json) {
    ModelConfig c = parse_config(json);
    c.causal = true;
    for (std::int64_t& window : c.windows)
        if (window > 0) --window;  // half the field's number, itself included
    if (std::ranges::any_of(c.layer_rope, [](LayerRope rope) { return rope == LayerRope::local; }) &&
        json.size({"local_attention"}, kMaxContext, 128) < 2)
        json.wrong("local_attention", "at least 2", "1");
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model;
    WeightMap map{
        .prefixes = {"model.", ""}, .qkv = c.causal ? QkvLayout::separate : QkvLayout::thirds, .ignored = {"*inv_freq"}};
    map.rows = {{Slot::embed, {"embeddings.tok_embeddings.weight"}, {c.vocab_size, d}},
                {Slot::embed_norm_gain, {"embeddings.norm.weight"}, {d}},
                {.slot = Slot::ln1_gain, .names = {"layers.#.attn_norm.weight"}, .shape = {d}, .first_layer = 1}};
    add_layers(map, c,
               {.at = "layers.#.",
                .ln1 = {},
                .ln2 = "mlp_norm",
                .qkv = c.causal ? std::vector<std::string>{"attn.q_proj", "attn.k_proj", "attn.v_proj"}
                                : std::vector<std::string>{"attn.Wqkv"},
                .o = "attn.Wo",
                .mlp_in = {},
                .mlp_out = "mlp.Wo",
                .o_bias = false,
                .norm_bias = false});
    add_linear(map, Slot::mlp_gate_up_weight, "layers.#.mlp.Wi", 2 * c.d_mlp, d, false);
    add_norm(map, Slot::final_norm_gain, "final_norm", d, false);
    const std::string head = c.causal ? "lm_head" : "head";
    add_masked_word_head(map, c,
                         {.dense = head + ".dense",
                          .norm = head + ".norm",
                          .decoder = "decoder",
                          .biases = {"decoder.bias"},
                          .required = c.architecture.ends_with("ForCausalLM"),
                          .with_bias = false});
    return map;
}

constexpr std::string_view kArchitectures[] = {"ModernBertModel", "ModernBertForMaskedLM"};
constexpr std::string_view kDecoderNames[] = {"ModernBertDecoderModel", "ModernBertDecoderForCausalLM"};

}  // namespace modernbert

const Family kModernbert = {
    "modernbert", modernbert::kArchitectures, "modernbert", modernbert::parse_config, modernbert::weight_map, encoder_spec};
const Family kModernbertDecoder = {"modernbert-decoder",      modernbert::kDecoderNames, "modernbert-decoder",
                                   modernbert::parse_decoder, modernbert::weight_map,    encoder_spec};

}  // namespace headlight::model
