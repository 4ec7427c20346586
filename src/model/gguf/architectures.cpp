// SPDX-License-Identifier: GPL-3.0-or-later
// Names and fields as llama.cpp's convert_hf_to_gguf.py and gguf's tensor_mapping.py write them, read backwards.
#include "headlight/base/error.h"
#include "model/gguf/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

namespace headlight::model {
namespace gguf {

constexpr const char *kFarFactors = "rope_factors_long.weight", *kNearFactors = "rope_factors_short.weight";

// ---- tensors ----------------------------------------------------------------------------------------------------------

constexpr auto& kQwen = kLlamaNames<Change::none, Change::none, Change::none>;
constexpr auto& kGemma = kLlamaNames<Change::none, Change::none, Change::plus_one>;

/// Gemma 2 and 3: four norms a layer.
constexpr std::array kGemma2 = std::to_array<TensorName>({
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm", Change::plus_one},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", Change::plus_one},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm", Change::plus_one},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm", Change::plus_one},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm", Change::plus_one},
    {"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm", Change::plus_one},
    {"blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm", Change::plus_one},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
});

constexpr std::array kPhi2 = std::to_array<TensorName>({
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.final_layernorm"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.dense"},
    {"blk.#.ffn_up", "model.layers.#.mlp.fc1"},
    {"blk.#.ffn_down", "model.layers.#.mlp.fc2"},
});

constexpr std::array kPhi3 = std::to_array<TensorName>({
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
    {"blk.#.attn_qkv", "model.layers.#.self_attn.qkv_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_up", "model.layers.#.mlp.gate_up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
});

template <Change Matrix>
constexpr std::array kGpt2Names = std::to_array<TensorName>({
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "transformer.h.#.ln_1"},
    {"blk.#.attn_qkv", "transformer.h.#.attn.c_attn", Matrix},
    {"blk.#.attn_output", "transformer.h.#.attn.c_proj", Matrix},
    {"blk.#.ffn_norm", "transformer.h.#.ln_2"},
    {"blk.#.ffn_up", "transformer.h.#.mlp.c_fc", Matrix},
    {"blk.#.ffn_down", "transformer.h.#.mlp.c_proj", Matrix},
});

constexpr std::array kBloom = std::to_array<TensorName>({
    {"token_embd", "transformer.word_embeddings"},
    {"token_embd_norm", "transformer.word_embeddings_layernorm"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "transformer.h.#.input_layernorm"},
    {"blk.#.attn_qkv", "transformer.h.#.self_attention.query_key_value", Change::split_heads},
    {"blk.#.attn_output", "transformer.h.#.self_attention.dense"},
    {"blk.#.ffn_norm", "transformer.h.#.post_attention_layernorm"},
    {"blk.#.ffn_up", "transformer.h.#.mlp.dense_h_to_4h"},
    {"blk.#.ffn_down", "transformer.h.#.mlp.dense_4h_to_h"},
});

constexpr std::array kBert = std::to_array<TensorName>({
    {"token_embd", "bert.embeddings.word_embeddings"},
    {"position_embd", "bert.embeddings.position_embeddings"},
    {"token_types", "bert.embeddings.token_type_embeddings"},
    {"token_embd_norm", "bert.embeddings.LayerNorm"},
    {"blk.#.attn_q", "bert.encoder.layer.#.attention.self.query"},
    {"blk.#.attn_k", "bert.encoder.layer.#.attention.self.key"},
    {"blk.#.attn_v", "bert.encoder.layer.#.attention.self.value"},
    {"blk.#.attn_output", "bert.encoder.layer.#.attention.output.dense"},
    {"blk.#.attn_output_norm", "bert.encoder.layer.#.attention.output.LayerNorm"},
    {"blk.#.ffn_up", "bert.encoder.layer.#.intermediate.dense"},
    {"blk.#.ffn_down", "bert.encoder.layer.#.output.dense"},
    {"blk.#.layer_output_norm", "bert.encoder.layer.#.output.LayerNorm"},
});

/// Falcon 7B has one norm a layer, the 40B two: attn_norm_2 is then the one of the attention, attn_norm the MLP's.
template <bool TwoNorms>
constexpr std::array kFalconNames = std::to_array<TensorName>({
    {"token_embd", "transformer.word_embeddings"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", TwoNorms ? "transformer.h.#.ln_mlp" : "transformer.h.#.input_layernorm"},
    {"blk.#.attn_norm_2", "transformer.h.#.ln_attn"},
    {"blk.#.attn_qkv", "transformer.h.#.self_attention.query_key_value", Change::split_groups},
    {"blk.#.attn_output", "transformer.h.#.self_attention.dense"},
    {"blk.#.ffn_up", "transformer.h.#.mlp.dense_h_to_4h"},
    {"blk.#.ffn_down", "transformer.h.#.mlp.dense_4h_to_h"},
});

/// DeepSeek-V2 and V3. Older files keep kv_b_proj whole, newer ones its two parts (llama.cpp's absorbed attention).
constexpr std::array kDeepseek2 = std::to_array<TensorName>({
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_q_a", "model.layers.#.self_attn.q_a_proj"},
    {"blk.#.attn_q_a_norm", "model.layers.#.self_attn.q_a_layernorm"},
    {"blk.#.attn_q_b", "model.layers.#.self_attn.q_b_proj"},
    {"blk.#.attn_kv_a_mqa", "model.layers.#.self_attn.kv_a_proj_with_mqa"},
    {"blk.#.attn_kv_a_norm", "model.layers.#.self_attn.kv_a_layernorm"},
    {"blk.#.attn_kv_b", "model.layers.#.self_attn.kv_b_proj"},
    {"blk.#.attn_k_b", "model.layers.#.self_attn.kv_b_proj", Change::latent_keys},
    {"blk.#.attn_v_b", "model.layers.#.self_attn.kv_b_proj", Change::latent_values},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
    {"blk.#.ffn_gate_inp", "model.layers.#.mlp.gate"},
    {"blk.#.exp_probs_b", "model.layers.#.mlp.gate.e_score_correction_bias", Change::whole_name},
    {"blk.#.ffn_gate_exps", "model.layers.#.mlp.experts.@.gate_proj", Change::experts},
    {"blk.#.ffn_up_exps", "model.layers.#.mlp.experts.@.up_proj", Change::experts},
    {"blk.#.ffn_down_exps", "model.layers.#.mlp.experts.@.down_proj", Change::experts},
    {"blk.#.ffn_gate_shexp", "model.layers.#.mlp.shared_experts.gate_proj"},
    {"blk.#.ffn_up_shexp", "model.layers.#.mlp.shared_experts.up_proj"},
    {"blk.#.ffn_down_shexp", "model.layers.#.mlp.shared_experts.down_proj"},
});

// ---- configurations ---------------------------------------------------------------------------------------------------

json base(std::string_view architecture, std::string_view type) {
    return {{"architectures", {architecture}}, {"model_type", type}};
}

std::int64_t head_width_of(const Meta& m) {
    const std::int64_t heads = m.integer("attention.head_count"), width = m.integer("embedding_length");
    if (heads < 1 || width < 1) m.wrong("attention.head_count", "at least 1", std::to_string(heads));
    return m.integer("attention.key_length", width / heads);
}

double rotated_share(const Meta& m) {
    const std::int64_t width = std::max<std::int64_t>(head_width_of(m), 1);
    return static_cast<double>(m.integer("rope.dimension_count", width)) / static_cast<double>(width);
}

/// The numbers of a tensor that is part of the configuration.
std::vector<float> factors_of(const Meta& m, const std::string& name) {
    const io::GgufTensor* t = m.file().find(name);
    if (!t) return {};
    std::vector<float> factors(static_cast<std::size_t>(t->numel()));
    if (t->type != io::GgmlType::F32 || factors.empty())
        throw Error(ErrorFacts{.problem = "These rotation factors cannot be read",
                               .file = m.file().path().string(),
                               .item = name,
                               .expected = "numbers of type F32",
                               .found = "another type"});
    std::memcpy(factors.data(), t->bytes.data(), t->bytes.size());
    return factors;
}

/// Frequencies that are divided by these factors; `far`: in texts beyond the original context.
json divided(const Meta& m, const std::vector<float>& near, const std::vector<float>& far) {
    json scaling = {{"rope_type", "longrope"},
                    {"short_factor", near},
                    {"long_factor", far},
                    {"attention_factor", m.number("rope.scaling.attn_factor", 1.0)}};
    if (m.has("rope.scaling.original_context_length"))
        scaling["original_max_position_embeddings"] = m.integer("rope.scaling.original_context_length");
    return scaling;
}

/// Llama 3.1's stretched rotation is not in the metadata: the converter wrote its factors as a tensor. They are those of the one
/// setting that most such models share, or are used as they stand.
void read_frequency_factors(const Meta& m, json& c) {
    const std::vector<float> factors = factors_of(m, "rope_freqs.weight");
    if (std::ranges::all_of(factors, [](float f) { return f == 1.0f; })) return;
    const double factor = *std::ranges::max_element(factors);
    const double theta = m.number("rope.freq_base", 10000.0), context = 8192;
    c["rope_scaling"] = {{"rope_type", "llama3"},
                         {"factor", factor},
                         {"low_freq_factor", 1.0},
                         {"high_freq_factor", 4.0},
                         {"original_max_position_embeddings", 8192}};
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const double frequency = std::pow(theta, -static_cast<double>(i) / static_cast<double>(factors.size()));
        const double wavelength = 2 * std::numbers::pi / frequency;
        const double smooth = std::clamp((context / wavelength - 1) / 3, 0.0, 1.0);
        const double expected = 1 / ((1 - smooth) / factor + smooth);
        if (std::abs(factors[i] - expected) <= 1e-3 * expected) continue;
        c["rope_scaling"] = divided(m, factors, factors);
        return;
    }
}

void read_rope_scaling(const Meta& m, json& c) {
    read_frequency_factors(m, c);
    std::string type = m.text("rope.scaling.type", "none");
    double factor = m.number("rope.scaling.factor", 1.0);
    if (m.has("rope.scale_linear")) type = "linear", factor = m.number("rope.scale_linear");
    if (type == "none" || (type == "linear" && factor == 1.0)) return;
    json scaling = {{"rope_type", type}, {"factor", factor}};
    if (m.has("rope.scaling.original_context_length"))
        scaling["original_max_position_embeddings"] = m.integer("rope.scaling.original_context_length");
    for (const char* side : {"beta_fast", "beta_slow"})
        if (const std::string key = std::string("rope.scaling.yarn_") + side; type == "yarn" && m.has(key))
            scaling[side] = m.number(key);
    c["rope_scaling"] = scaling;
}

json llama_like(const Meta& m, std::string_view architecture, std::string_view type) {
    json c = base(architecture, type);
    c["num_hidden_layers"] = m.integer("block_count");
    c["hidden_size"] = m.integer("embedding_length");
    c["intermediate_size"] = m.integer("feed_forward_length");
    c["num_attention_heads"] = m.integer("attention.head_count");
    c["num_key_value_heads"] = m.integer("attention.head_count_kv", m.integer("attention.head_count"));
    c["head_dim"] = head_width_of(m);
    c["max_position_embeddings"] = m.integer("context_length");
    c["vocab_size"] = m.tensor_size("token_embd.weight", 0);
    c["rope_theta"] = m.number("rope.freq_base", 10000.0);
    c["tie_word_embeddings"] = !m.has_tensor("output.weight");
    c["hidden_act"] = "silu";
    if (m.has("attention.layer_norm_rms_epsilon")) c["rms_norm_eps"] = m.number("attention.layer_norm_rms_epsilon");
    read_rope_scaling(m, c);
    return c;
}

json llama(const Meta& m) {
    const std::int64_t experts = m.integer("expert_count", 0);
    json c = experts > 0 ? llama_like(m, "MixtralForCausalLM", "mixtral") : llama_like(m, "LlamaForCausalLM", "llama");
    if (experts > 0) {
        c["num_local_experts"] = experts;
        c["num_experts_per_tok"] = m.integer("expert_used_count");
        if (m.has("attention.sliding_window")) c["sliding_window"] = m.integer("attention.sliding_window");
        return c;
    }
    c["attention_bias"] = m.has_tensor("blk.0.attn_q.bias");
    c["mlp_bias"] = m.has_tensor("blk.0.ffn_up.bias");
    return c;
}
json qwen2(const Meta& m) { return llama_like(m, "Qwen2ForCausalLM", "qwen2"); }
json qwen3(const Meta& m) { return llama_like(m, "Qwen3ForCausalLM", "qwen3"); }

json gemma_like(const Meta& m, const char* architecture, const char* type) {
    json c = llama_like(m, architecture, type);
    c["hidden_act"] = c["hidden_activation"] = "gelu_pytorch_tanh";
    if (m.has("attention.sliding_window")) c["sliding_window"] = m.integer("attention.sliding_window");
    return c;
}
json gemma(const Meta& m) { return gemma_like(m, "GemmaForCausalLM", "gemma"); }
json gemma2(const Meta& m) {
    json c = gemma_like(m, "Gemma2ForCausalLM", "gemma2");
    c["attn_logit_softcapping"] = m.number("attn_logit_softcapping", 50.0);
    c["final_logit_softcapping"] = m.number("final_logit_softcapping", 30.0);
    // Not in the metadata: the 27B scales by its width for each head, the smaller ones by the head's own.
    const std::int64_t heads = m.integer("attention.head_count");
    c["query_pre_attn_scalar"] = m.integer("block_count") == 46 ? m.integer("embedding_length") / heads : head_width_of(m);
    return c;
}

json gemma3(const Meta& m) {
    json c = gemma_like(m, "Gemma3ForCausalLM", "gemma3_text");
    // Not in the metadata, and the same in all of them: every sixth layer is global, local ones turn with base 10,000, and
    // the 27B scales by its width for each head.
    const std::int64_t layers = m.integer("block_count"), heads = m.integer("attention.head_count");
    c["layer_types"] = json::array();
    for (std::int64_t l = 1; l <= layers; ++l) c["layer_types"].push_back(l % 6 == 0 ? "full_attention" : "sliding_attention");
    json global = c.contains("rope_scaling") ? c["rope_scaling"] : json{{"rope_type", "default"}};
    global["rope_theta"] = c["rope_theta"];
    c.erase("rope_scaling");
    c.erase("rope_theta");
    c["rope_parameters"] = {{"full_attention", global},
                            {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000.0}}}};
    c["query_pre_attn_scalar"] = layers == 62 ? m.integer("embedding_length") / heads : head_width_of(m);
    return c;
}

json gpt2_like(const Meta& m, const char* architecture, const char* type) {
    json c = base(architecture, type);
    c["n_layer"] = m.integer("block_count");
    c["n_embd"] = m.integer("embedding_length");
    c["n_head"] = m.integer("attention.head_count");
    c["n_inner"] = m.integer("feed_forward_length");
    c["n_positions"] = m.integer("context_length");
    c["vocab_size"] = m.tensor_size("token_embd.weight", 0);
    c["layer_norm_epsilon"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["activation_function"] = "gelu_new";
    c["tie_word_embeddings"] = !m.has_tensor("output.weight");
    return c;
}
json gpt2(const Meta& m) { return gpt2_like(m, "GPT2LMHeadModel", "gpt2"); }
json starcoder(const Meta& m) {
    json c = gpt2_like(m, "GPTBigCodeForCausalLM", "gpt_bigcode");
    c["activation_function"] = "gelu_pytorch_tanh";
    c["multi_query"] = m.integer("attention.head_count_kv", 1) == 1;
    return c;
}

json phi2(const Meta& m) {
    json c = llama_like(m, "PhiForCausalLM", "phi");
    c["layer_norm_eps"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["hidden_act"] = "gelu_new";
    c["partial_rotary_factor"] = rotated_share(m);
    c.erase("head_dim");
    return c;
}

json phi3(const Meta& m) {
    json c = llama_like(m, "Phi3ForCausalLM", "phi3");
    c["partial_rotary_factor"] = rotated_share(m);
    if (const auto far = factors_of(m, kFarFactors); !far.empty())
        c["rope_scaling"] = divided(m, factors_of(m, kNearFactors), far);
    if (m.has("attention.sliding_window") && m.integer("attention.sliding_window") > 0)
        c["sliding_window"] = m.integer("attention.sliding_window");
    return c;
}

json bloom(const Meta& m) {
    json c = base("BloomForCausalLM", "bloom");
    c["n_layer"] = m.integer("block_count");
    c["hidden_size"] = m.integer("embedding_length");
    c["n_head"] = m.integer("attention.head_count");
    c["vocab_size"] = m.tensor_size("token_embd.weight", 0);
    if (m.has("context_length")) c["seq_length"] = m.integer("context_length");
    c["layer_norm_epsilon"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["tie_word_embeddings"] = !m.has_tensor("output.weight");
    return c;
}

json bert_like(const Meta& m, std::string_view architecture, std::string_view type) {
    json c = base(architecture, type);
    c["num_hidden_layers"] = m.integer("block_count");
    c["hidden_size"] = m.integer("embedding_length");
    c["num_attention_heads"] = m.integer("attention.head_count");
    c["intermediate_size"] = m.integer("feed_forward_length");
    c["vocab_size"] = m.tensor_size("token_embd.weight", 0);
    c["type_vocab_size"] = m.tensor_size("token_types.weight", 0);
    c["layer_norm_eps"] = m.number("attention.layer_norm_epsilon", 1e-12);
    return c;
}

json bert(const Meta& m) {
    json c = bert_like(m, "BertModel", "bert");
    c["max_position_embeddings"] = m.tensor_size("position_embd.weight", 0);
    return c;
}

json falcon(const Meta& m) {
    const std::int64_t kv_heads = m.integer("attention.head_count_kv", 1);
    json c = base("FalconForCausalLM", "falcon");
    c["num_hidden_layers"] = m.integer("block_count");
    c["hidden_size"] = m.integer("embedding_length");
    c["num_attention_heads"] = m.integer("attention.head_count");
    c["num_kv_heads"] = kv_heads;
    c["multi_query"] = kv_heads == 1;
    c["ffn_hidden_size"] = m.integer("feed_forward_length");
    // The 40B and 180B have groups of heads and two norms, the 11B groups and one norm.
    const bool two_norms = m.has_tensor("blk.0.attn_norm_2.weight");
    c["new_decoder_architecture"] = two_norms || kv_heads > 1;
    c["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
    c["parallel_attn"] = true;
    c["bias"] = m.has_tensor("blk.0.attn_qkv.bias");
    c["alibi"] = false;
    c["max_position_embeddings"] = m.integer("context_length");
    c["vocab_size"] = m.tensor_size("token_embd.weight", 0);
    c["rope_theta"] = m.number("rope.freq_base", 10000.0);
    c["layer_norm_epsilon"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["tie_word_embeddings"] = !m.has_tensor("output.weight");
    return c;
}

/// Groups that experts are chosen from. Files older than llama.cpp's support for groups lack the field; the
/// values of the released models are known.
void read_groups(const Meta& m, bool v3, json& c) {
    const std::int64_t experts = m.integer("expert_count");
    std::int64_t groups = 1, chosen = 1;
    if (v3 && experts == 256) groups = 8, chosen = 4;   // V3, R1
    if (!v3 && experts == 160) groups = 8, chosen = 3;  // V2
    c["n_group"] = m.integer("expert_group_count", groups);
    c["topk_group"] = m.integer("expert_group_used_count", chosen);
    if (!v3) c["topk_method"] = c["n_group"] == 1 ? "greedy" : "group_limited_greedy";
}

json deepseek2(const Meta& m) {
    constexpr std::int64_t softmax = 1, sigmoid = 2;
    const std::int64_t gating = m.integer("expert_gating_func", softmax);
    if (gating != softmax && gating != sigmoid)
        m.wrong("expert_gating_func", "1 (softmax) or 2 (sigmoid)", std::to_string(gating));
    const bool v3 = gating == sigmoid;
    json c = llama_like(m, v3 ? "DeepseekV3ForCausalLM" : "DeepseekV2ForCausalLM", v3 ? "deepseek_v3" : "deepseek_v2");
    c.erase("head_dim");
    c["num_key_value_heads"] = m.integer("attention.head_count");  // newer files say 1: of the latent
    c["kv_lora_rank"] = m.integer("attention.kv_lora_rank");
    if (m.has("attention.q_lora_rank")) c["q_lora_rank"] = m.integer("attention.q_lora_rank");
    const std::int64_t rotary = m.integer("rope.dimension_count");
    const std::int64_t key =
        m.has("attention.key_length_mla") ? m.integer("attention.key_length_mla") : m.integer("attention.key_length");
    if (key <= rotary)
        m.wrong("attention.key_length", "more than rope.dimension_count, " + std::to_string(rotary), std::to_string(key));
    c["qk_rope_head_dim"] = rotary;
    c["qk_nope_head_dim"] = key - rotary;
    c["v_head_dim"] =
        m.has("attention.value_length_mla") ? m.integer("attention.value_length_mla") : m.integer("attention.value_length");
    c["first_k_dense_replace"] = m.integer("leading_dense_block_count", 0);
    c["n_routed_experts"] = m.integer("expert_count");
    c["num_experts_per_tok"] = m.integer("expert_used_count");
    c["n_shared_experts"] = m.integer("expert_shared_count");
    c["moe_intermediate_size"] = m.integer("expert_feed_forward_length");
    const double scale = m.number("expert_weights_scale", 1.0);
    c["routed_scaling_factor"] = scale == 0 ? 1.0 : scale;  // 0: none
    c["norm_topk_prob"] = m.flag("expert_weights_norm", false);
    read_groups(m, v3, c);
    if (c.contains("rope_scaling")) {
        json& rope = c["rope_scaling"];
        // 0.1 mscale_all_dim; mscale itself is not in the metadata, and the same in every released model.
        const double all = std::round(m.number("rope.scaling.yarn_log_multiplier", 0.0) * 1e7) / 1e6;
        if (all != 0) rope["mscale"] = rope["mscale_all_dim"] = all;
    }
    return c;
}

}  // namespace gguf

const GgufArchitecture& architecture_of(const GgufMetadata& m) {
    static const std::array kAll = std::to_array<GgufArchitecture>({
        {"llama", gguf::kLlama, gguf::llama},
        {"qwen2", gguf::kQwen, gguf::qwen2},
        {"qwen3", gguf::kQwen, gguf::qwen3},
        {"qwen2vl", gguf::kQwen, gguf::qwen2},  // the language models of vision-language ones
        {"qwen3vl", gguf::kQwen, gguf::qwen3},
        {"gemma", gguf::kGemma, gguf::gemma},
        {"gemma2", gguf::kGemma2, gguf::gemma2},
        {"gemma3", gguf::kGemma2, gguf::gemma3},
        {"gpt2", gguf::kGpt2Names<Change::transpose>, gguf::gpt2},
        {"starcoder", gguf::kGpt2Names<Change::none>, gguf::starcoder},
        {"phi2", gguf::kPhi2, gguf::phi2},
        {"phi3", gguf::kPhi3, gguf::phi3},
        {"bert", gguf::kBert, gguf::bert},
        {"bloom", gguf::kBloom, gguf::bloom},
        {"falcon", gguf::kFalconNames<false>, gguf::falcon},
        {"deepseek2", gguf::kDeepseek2, gguf::deepseek2},
    });
    static const GgufArchitecture kFalconTwoNorms{"falcon", gguf::kFalconNames<true>, gguf::falcon};
    if (m.architecture() == kFalconTwoNorms.name && m.has_tensor("blk.0.attn_norm_2.weight")) return kFalconTwoNorms;
    std::string known;
    for (const std::span<const GgufArchitecture> some :
         {std::span<const GgufArchitecture>(kAll), gguf::more_architectures(), gguf::later_architectures()})
        for (const GgufArchitecture& one : some) {
            if (one.name == m.architecture()) return one;
            known += (known.empty() ? "one of " : ", ") + std::string(one.name);
        }
    constexpr std::array kFoldersOnly = std::to_array<std::string_view>(
        {"gpt-oss", "t5", "modern-bert", "gptj", "gemma-embedding", "phimoe", "apertus", "glm4moe", "llama4", "mamba2"});
    const bool folder = std::ranges::find(kFoldersOnly, m.architecture()) != kFoldersOnly.end();
    throw Error(ErrorFacts{.problem = folder ? "GGUF files of this architecture are not read" : "Unknown architecture",
                           .file = m.file().path().string(),
                           .item = "general.architecture",
                           .expected = known,
                           .found = m.architecture(),
                           .hint = folder ? "Open the model's Hugging Face folder, with config.json and safetensors" : ""});
}

bool is_configuration(std::string_view tensor) {
    return tensor == "rope_freqs.weight" || tensor == gguf::kFarFactors || tensor == gguf::kNearFactors;
}

}  // namespace headlight::model
