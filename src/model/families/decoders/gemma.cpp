// SPDX-License-Identifier: GPL-3.0-or-later
// Gemma: Llama with scaled embeddings and gains stored less 1. Gemma 2: norms on both sides of attention and MLP, capped
// scores and logits, every other layer with a window. Gemma 3: norms of queries and keys, and frequencies of their own
// in the layers with a window.
#include "model/families/decoders/llama_shape.h"

#include <cmath>

namespace headlight::model {
namespace gemma {

void refuse_bidirectional(const ConfigReader& json) { json.require_flag("use_bidirectional_attention", false, false); }

ModelConfig parse_gemma(const ConfigReader& json) {
    refuse_bidirectional(json);
    ModelConfig c =
        llama_config(json, {.kv_heads = 16, .d_head = 256, .context = 8192, .tied = true, .activation = "gelu_pytorch_tanh"});
    c.query_bias = json.flag("attention_bias", false);
    c.embed_scale = std::sqrt(static_cast<double>(c.d_model));
    return c;
}

WeightMap gemma_map(const ModelConfig& c) { return llama_map(c, {.o_bias = c.query_bias, .gain_plus = 1}); }

/// What Gemma 2 and 3 share.
ModelConfig parse_with_branch_norms(const ConfigReader& json, std::int64_t context, double theta) {
    ModelConfig c = llama_config(json, {.kv_heads = 4,
                                        .d_head = 256,
                                        .context = context,
                                        .tied = true,
                                        .activation_field = "hidden_activation",
                                        .activation = "gelu_pytorch_tanh",
                                        .rope_theta = theta});
    c.query_bias = json.flag("attention_bias", false);
    c.embed_scale = std::sqrt(static_cast<double>(c.d_model));
    c.branch_norm = true;
    c.score_scale = 1.0 / std::sqrt(json.number({"query_pre_attn_scalar"}, 256));
    return c;
}

/// null: none; absent: `fallback`, 0 none.
double read_cap(const ConfigReader& json, std::string_view name, double fallback) {
    if (json.has(name)) return json.number({name});
    return json.mentions(name) ? 0 : fallback;
}

ModelConfig parse_gemma2(const ConfigReader& json) {
    refuse_bidirectional(json);
    ModelConfig c = parse_with_branch_norms(json, 8192, 10000.0);
    c.score_softcap = read_cap(json, "attn_logit_softcapping", 50.0);
    c.final_softcap = read_cap(json, "final_logit_softcapping", 30.0);
    read_layer_types(json, c, json.size({"sliding_window"}, kMaxContext, 4096),
                     [](std::int64_t layer) { return layer % 2 == 0; });
    return c;
}

ModelConfig parse_gemma3(const ConfigReader& json) {
    ModelConfig c = parse_with_branch_norms(json, 131072, 1000000.0);
    // attn_logit_softcapping is stored, but transformers never applies it to this model.
    c.final_softcap = read_cap(json, "final_logit_softcapping", 0);
    c.qk_norm = QkNorm::head;
    std::int64_t window = json.size({"sliding_window"}, kMaxContext, 4096);
    if (json.flag("use_bidirectional_attention", false)) {  // EmbeddingGemma: half the window to either side, no next token
        c.causal = c.has_unembedding = false;
        window = window / 2 + 1;
    }
    if (json.has("layer_types") || !json.has("sliding_window_pattern")) {
        read_layer_types(json, c, window, [](std::int64_t layer) { return (layer + 1) % 6 != 0; });
    } else {
        const std::int64_t every = json.size({"sliding_window_pattern"}, kMaxLayers);
        for (std::int64_t l = 0; l < c.n_layers; ++l) c.windows.push_back((l + 1) % every != 0 ? window : 0);
    }
    // Files without "rope_parameters" per kind of layer have only this field for local layers, without scaling.
    const auto rope = json.object("rope_parameters");
    if (!rope || !rope->object_of_kind("sliding_attention"))
        c.local_rope = {.theta = json.number({"rope_local_base_freq"}, 10000.0)};
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        c.layer_rope.push_back(window_of(c, l) > 0 ? LayerRope::local : LayerRope::global);
    return c;
}

WeightMap branch_map(const ModelConfig& c) {
    return llama_map(c, {.o_bias = c.query_bias,
                         .gain_plus = 1,
                         .ln1_post = "post_attention_layernorm",
                         .ln2 = "pre_feedforward_layernorm",
                         .ln2_post = "post_feedforward_layernorm"});
}

constexpr std::string_view kGemmaNames[] = {"GemmaForCausalLM", "GemmaModel"};
constexpr std::string_view kGemma2Names[] = {"Gemma2ForCausalLM", "Gemma2Model"};
constexpr std::string_view kGemma3Names[] = {"Gemma3ForCausalLM", "Gemma3TextModel"};

}  // namespace gemma

const Family kGemma = {"gemma", gemma::kGemmaNames, "gemma", gemma::parse_gemma, gemma::gemma_map, llama_spec};
const Family kGemma2 = {"gemma2", gemma::kGemma2Names, "gemma2", gemma::parse_gemma2, gemma::branch_map, llama_spec};
const Family kGemma3 = {"gemma3", gemma::kGemma3Names, "gemma3_text", gemma::parse_gemma3, gemma::branch_map, llama_spec};

}  // namespace headlight::model
